import fc from 'fast-check';
import { expect, test } from 'vitest';
import { Backoff, backoffMs } from '../../src/base/backoff.js';

const OPTIONS = { firstMs: 1_000, factor: 2, maxMs: 128_000, jitter: 0 };

test('waits double up to their bound and start again after a success', () => {
  const backoff = new Backoff(OPTIONS);
  const waits = Array.from({ length: 9 }, () => backoff.next() / 1_000);
  expect(waits).toEqual([1, 2, 4, 8, 16, 32, 64, 128, 128]);
  expect(backoff.tries).toBe(9);
  backoff.reset();
  expect(backoff.next()).toBe(1_000);
});

test('no number of tries and no chance takes a wait out of its bounds', () => {
  fc.assert(
    fc.property(fc.nat(), fc.double({ min: 0, max: 0.999, noNaN: true }), (attempt, chance) => {
      const waitMs = backoffMs(attempt, { ...OPTIONS, jitter: 0.5 }, () => chance);
      expect(waitMs).toBeGreaterThanOrEqual(500);
      expect(waitMs).toBeLessThanOrEqual(128_000);
    }),
  );
});
