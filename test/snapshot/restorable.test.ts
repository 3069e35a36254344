import fc from 'fast-check';
import { expect, test } from 'vitest';
import { planRestore } from '../../src/snapshot/chain.js';
import { FullPairs } from '../../src/snapshot/full-pairs.js';
import { restorableRanges } from '../../src/snapshot/restorable.js';
import { asNamed, delta, full } from './objects.js';

const inWords = (ranges: ReturnType<typeof restorableRanges>) =>
  ranges.map(({ from, to }) => `${from}-${to}`).join(', ');

test('each full with what continues it; holes are holes', () => {
  const objects = [
    full(10, 0),
    delta(11, 20, 1),
    delta(31, 40, 2),
    full(50, 3),
    delta(45, 60, 4),
    full(61, 5),
  ];
  expect(inWords(restorableRanges(asNamed(objects)))).toBe('10-20, 50-61');
  expect(inWords(restorableRanges({ objects: [delta(1, 5, 0)] }))).toBe('');
  const without = { ...asNamed(objects), exclude: [objects[4]?.name.text as string] };
  expect(inWords(restorableRanges(without))).toBe('10-20, 50-50, 61-61');
});

test('a revision is in the ranges if, and only if, the planner reaches it', () => {
  const piece = fc.record({ isFull: fc.boolean(), low: fc.integer({ min: 1, max: 40 }), span: fc.nat(12) });
  fc.assert(
    fc.property(fc.array(piece, { minLength: 1, maxLength: 12 }), (pieces) => {
      const sorted = pieces.toSorted((a, b) => a.low + a.span - b.low - b.span);
      const objects = sorted.map(({ isFull, low, span }, at) =>
        isFull ? full(low + span, at) : delta(low, low + span, at),
      );
      const input = asNamed(objects);
      const ranges = restorableRanges(input);
      for (let revision = 1n; revision <= 60n; revision++) {
        const result = planRestore({ ...input, targetRevision: revision });
        const reached = result.kind === 'ready' && result.plan.revision === revision;
        expect([revision, ranges.some(({ from, to }) => from <= revision && revision <= to)]).toEqual([
          revision,
          reached,
        ]);
      }
    }),
    { numRuns: 300 },
  );
});

test('fulls that follow each other are pairs, and what leads from one to the next is found', () => {
  const objects = [full(10, 0), delta(11, 20, 1), delta(15, 35, 2), full(30, 3), full(50, 4)];
  const pairs = new FullPairs(asNamed(objects));
  expect(pairs.pairs.map(({ base, later }) => `${base.name.last}-${later.name.last}`)).toEqual([
    '10-30',
    '30-50',
  ]);
  const [first, second] = pairs.pairs;
  const between = pairs.between(first as never, 10n, 30n);
  expect('deltas' in between && between.deltas.map(({ from, to }) => `${from}-${to}`)).toEqual([
    '11-20',
    '21-30',
  ]);
  expect(pairs.between(second as never, 30n, 50n)).toEqual({ missing: [{ from: 36n, to: 50n }] });
});

test('fulls of two timelines are no pair', () => {
  const restoredFrom = { base: full(10, 0).name.text, revision: 10n };
  const objects = [
    full(10, 0),
    delta(11, 20, 1),
    full(12, 5_000, { restoredFrom }),
    full(30, 6_000, { restoredFrom }),
  ];
  const pairs = new FullPairs(asNamed(objects));
  expect(pairs.pairs.map(({ base, later }) => `${base.name.last}-${later.name.last}`)).toEqual(['12-30']);
});
