import fc from 'fast-check';
import { expect, test } from 'vitest';
import { formatDuration, parseDuration } from '../../src/base/duration.js';

test.each([
  ['0', 0],
  ['20s', 20_000],
  ['1h30m', 5_400_000],
  ['1.5h', 5_400_000],
  ['100ms', 100],
  ['.5s', 500],
  ['1.s', 1_000],
  ['250us', 0.25],
  ['3µs', 0.003],
  ['3μs', 0.003],
  ['-2m', -120_000],
  ['+2m', 120_000],
  ['0s', 0],
  ['-0s', 0],
])('%s is %d ms', (text, ms) => {
  expect(parseDuration(text)).toBeCloseTo(ms, 9);
});

test.each(['', '5', '-', '1 h', 's', '1h30', '1d', '.s', '1e3s', '3000000h', ' 1s', '1s ', '0x1s'])(
  'Go refuses "%s", so it is refused',
  (text) => {
    expect(parseDuration(text)).toBeUndefined();
  },
);

test.each([
  [0, '0s'],
  [5_400_000, '1h30m0s'],
  [60_000, '1m0s'],
  [1_500, '1.5s'],
  [100, '100ms'],
  [0.25, '250µs'],
  [0.000_001, '1ns'],
  [-20_000, '-20s'],
  [900_000, '15m0s'],
])('%d ms is written as %s', (ms, text) => {
  expect(formatDuration(ms)).toBe(text);
});

test('what is written can be read again', () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 10_000_000_000 }), (ms) => {
      expect(parseDuration(formatDuration(ms))).toBeCloseTo(ms, 3);
    }),
  );
});
