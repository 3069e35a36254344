import { readdirSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { BackupError } from '../../src/errors.js';
import { planRestore } from '../../src/snapshot/chain.js';
import type { StoredSnapshot } from '../../src/snapshot/plan.js';
import { asNamed, delta, full, named, planOf, sketch } from './objects.js';

const CHAIN = [full(100, 0), delta(101, 110, 20), delta(111, 130, 40), delta(131, 140, 60)];

describe('hazard 1: a full holds more than its name says', () => {
  test.each([
    [0, '101-110 of 101-110, 111-130 of 111-130, 131-140 of 131-140'],
    [1, '102-110 of 101-110, 111-130 of 111-130, 131-140 of 131-140'],
    [9, '110-110 of 101-110, 111-130 of 111-130, 131-140 of 131-140'],
    [10, '111-130 of 111-130, 131-140 of 131-140'],
    [11, '112-130 of 111-130, 131-140 of 131-140'],
    [35, '136-140 of 131-140'],
  ])('by %d revisions', (more, deltas) => {
    const unread = planRestore({ objects: CHAIN });
    expect(unread).toMatchObject({ kind: 'needs-base-revision', base: CHAIN[0], plan: { revision: 140n } });
    const baseRevisions = new Map([[nameOf(CHAIN[0]), BigInt(100 + more)]]);
    const read = planRestore({ objects: CHAIN, baseRevisions });
    expect(read).toMatchObject({ kind: 'ready', plan: { revision: 140n, baseRevisionKnown: true } });
    expect(sketch(planOf(read))).toBe(`base ${100 + more}, ${deltas}`);
  });

  test('even more than all deltas', () => {
    const read = planRestore({ objects: CHAIN, baseRevisions: new Map([[nameOf(CHAIN[0]), 150n]]) });
    expect(read).toMatchObject({ kind: 'ready', plan: { revision: 150n, deltas: [] } });
  });

  test('what is missing right behind an unread base is reported only once the base has been read', () => {
    const objects = [full(100, 0), delta(106, 120, 20)];
    expect(planRestore({ objects }).kind).toBe('needs-base-revision');
    const read = (revision: bigint) =>
      planRestore({ objects, baseRevisions: new Map([[nameOf(objects[0]), revision]]) });
    expect(read(104n)).toMatchObject({ kind: 'gap', missing: [{ from: 105n, to: 105n }] });
    expect(read(105n)).toMatchObject({ kind: 'ready', plan: { revision: 120n } });
  });

  test('a manifest says so without reading', () => {
    const result = planRestore({ objects: [full(100, 0, { revision: 115n }), delta(101, 130, 20)] });
    expect(result.kind).toBe('ready');
    expect(sketch(planOf(result))).toBe('base 115, 116-130 of 101-130');
  });

  test('a base that turns out to be above the wanted revision is not used', () => {
    const objects = [full(50, 0), delta(51, 100, 10), full(100, 20)];
    const baseRevisions = new Map([
      [nameOf(objects[2]), 104n],
      [nameOf(objects[0]), 50n],
    ]);
    const result = planRestore({ objects, baseRevisions, targetRevision: 100n });
    expect(result.kind).toBe('ready');
    expect(sketch(planOf(result))).toBe('base 50, 51-100 of 51-100');
  });

  test('hazard 2: one that holds less than its name is told, and its deltas must reach down to it', () => {
    const baseRevisions = new Map([[nameOf(CHAIN[0]), 98n]]);
    const result = planRestore({ objects: CHAIN, baseRevisions });
    expect(result).toMatchObject({ kind: 'gap', missing: [{ from: 99n, to: 100n }] });
    expect(result.warnings[0]?.text).toMatch(/less than its name/);
  });
});

describe('hazard 3: deltas of two writers are no fork', () => {
  test.each([
    ['same start, longer end', [delta(101, 110, 20), delta(101, 115, 21)], 'base 100, 101-115 of 101-115'],
    ['the same range twice', [delta(101, 110, 20), delta(101, 110, 21)], 'base 100, 101-110 of 101-110'],
    ['one contained in another', [delta(101, 120, 20), delta(105, 110, 19)], 'base 100, 101-120 of 101-120'],
    [
      'overlap at the tail',
      [delta(101, 110, 20), delta(105, 120, 21)],
      'base 100, 101-110 of 101-110, 111-120 of 105-120',
    ],
    ['from below the base', [delta(90, 110, 20)], 'base 100, 101-110 of 90-110'],
  ])('%s', (_, deltas, expected) => {
    const result = planRestore(asNamed([full(100, 0), ...deltas]));
    expect(result.kind).toBe('ready');
    expect(sketch(planOf(result))).toBe(expected);
  });

  test('the fixture that the Go tool cannot restore', () => {
    const dir = new URL('../fixtures/gardener-two-writers-etcd3.5/store/v2/', import.meta.url);
    const objects = readdirSync(dir).map((name) => named(name));
    const result = planRestore(asNamed(objects));
    expect(result).toMatchObject({ kind: 'ready', plan: { revision: 2586n }, warnings: [] });
    expect(sketch(planOf(result))).toBe(
      'base 1188, 1189-1420 of 1189-1420, 1421-1787 of 1421-1787, 1788-2186 of 1788-2186, 2187-2586 of 2187-2586',
    );
    for (const { object, alternatives } of planOf(result)?.deltas ?? []) {
      for (const other of alternatives) expect(other.name.last >= object.name.last).toBe(true);
    }
  });

  test('of one range ours is read, the other is its alternative, and takes over when ours is excluded', () => {
    const [theirs, ours] = [delta(101, 110, 30), delta(101, 110, 20, {})];
    const input = asNamed([full(100, 0), theirs, ours]);
    expect(planOf(planRestore(input))?.deltas).toMatchObject([{ object: ours, alternatives: [theirs] }]);
    const without = planRestore({ ...input, exclude: [nameOf(ours)] });
    expect(without.kind).toBe('ready');
    expect(planOf(without)?.deltas).toMatchObject([{ object: theirs, alternatives: [] }]);
  });

  test("a writer's own continuation goes before one that reaches farther", () => {
    const first = delta(101, 110, 20, {});
    const own = delta(111, 115, 30, { previous: { name: nameOf(first) } });
    const result = planRestore({ objects: [full(100, 0, {}), first, own, delta(111, 120, 31, {})] });
    expect(sketch(planOf(result))).toBe(
      'base 100, 101-110 of 101-110, 111-115 of 111-115, 116-120 of 111-120',
    );
  });
});

describe('R5: what is missing is told exactly, before any work', () => {
  test('between deltas, also while the base is unread', () => {
    const objects = [full(100, 0), delta(101, 110, 20), delta(116, 120, 30), delta(125, 130, 40)];
    const missing = [
      { from: 111n, to: 115n },
      { from: 121n, to: 124n },
    ];
    expect(planRestore({ objects })).toMatchObject({
      kind: 'gap',
      wanted: 130n,
      missing,
      best: { revision: 110n },
    });
    expect(planRestore(asNamed(objects))).toMatchObject({ kind: 'gap', missing, best: { revision: 110n } });
  });

  test('a single revision', () => {
    const objects = asNamed([full(100, 0), delta(101, 110, 20), delta(112, 120, 30)]);
    const missing = [{ from: 111n, to: 111n }];
    expect(planRestore(objects)).toMatchObject({ kind: 'gap', missing, best: { revision: 110n } });
  });

  test('the next lower states are offered', () => {
    const objects = [full(50, 0), delta(51, 80, 5), full(100, 10), delta(101, 110, 20), delta(116, 120, 30)];
    const result = planRestore(asNamed(objects));
    expect(result.kind === 'gap' && result.nextBest.map(sketch)).toEqual(['base 50, 51-80 of 51-80']);
  });

  test('a lower full helps over a hole above a higher one', () => {
    const objects = [full(100, 0), delta(101, 200, 10), full(150, 11), delta(160, 220, 20)];
    expect(sketch(planOf(planRestore(asNamed(objects))))).toBe(
      'base 150, 151-200 of 101-200, 201-220 of 160-220',
    );
  });

  test.each([
    ['nothing', [], /no backup/],
    ['only deltas', [delta(101, 110, 20)], /1 deltas, but no full/],
  ])('%s', (_, objects, reason) => {
    expect(planRestore({ objects })).toMatchObject({
      kind: 'nothing',
      reason: expect.stringMatching(reason),
    });
  });
});

describe('R6: a chosen state', () => {
  const objects = [full(50, 0), delta(51, 100, 10), full(100, 20), delta(101, 120, 30)];

  test.each([
    [120n, 'base 100, 101-120 of 101-120'],
    [107n, 'base 100, 101-107 of 101-120'],
    [100n, 'base 100'],
    [99n, 'base 50, 51-99 of 51-100'],
    [50n, 'base 50'],
  ])('revision %d', (targetRevision, expected) => {
    const result = planRestore({ ...asNamed(objects), targetRevision });
    expect(result).toMatchObject({ kind: 'ready', plan: { revision: targetRevision } });
    expect(sketch(planOf(result))).toBe(expected);
  });

  test('a revision that no object holds', () => {
    const above = planRestore({ ...asNamed(objects), targetRevision: 125n });
    expect(above).toMatchObject({
      kind: 'gap',
      missing: [{ from: 121n, to: 125n }],
      best: { revision: 120n },
    });
    const below = planRestore({ ...asNamed(objects), targetRevision: 49n });
    expect(below).toMatchObject({ kind: 'nothing', nearest: { revision: 50n } });
  });

  test('a base, with or without its suffix, also as a key', () => {
    const name = nameOf(objects[0]);
    for (const base of [name, name.replace('.gz', ''), `v2/${name}`]) {
      expect(sketch(planOf(planRestore({ ...asNamed(objects), base })))).toBe(
        'base 50, 51-100 of 51-100, 101-120 of 101-120',
      );
    }
    expect(() => planRestore({ ...asNamed(objects), base: 'Full-1-2-3' })).toThrow(BackupError);
    expect(() => planRestore({ ...asNamed(objects), base: nameOf(objects[1]) })).toThrow(
      /no full of this name/,
    );
  });

  test('without some objects', () => {
    const without = (...exclude: string[]) => planRestore({ ...asNamed(objects), exclude });
    expect(sketch(planOf(without(nameOf(objects[2]))))).toBe('base 50, 51-100 of 51-100, 101-120 of 101-120');
    expect(without(nameOf(objects[3]))).toMatchObject({ kind: 'ready', plan: { revision: 100n } });
    expect(without(nameOf(objects[0]), nameOf(objects[2]))).toMatchObject({
      kind: 'nothing',
      reason: 'every full is excluded',
    });
    expect(without('Incr-1-2-3').warnings).toMatchObject([{ object: 'Incr-1-2-3' }]);
  });
});

test('hazard 7: 200,000 objects are planned within seconds, and the newest chain is found', () => {
  const objects: StoredSnapshot[] = [];
  for (let i = 0; i < 200_000; i += 1) {
    const last = i * 10;
    objects.push(i % 180 === 0 ? full(last + 10, i * 20) : delta(last + 1, last + 10, i * 20));
  }
  // Each full stands where a delta would, so a chain begins anew with it.
  const started = performance.now();
  const result = planRestore(asNamed(objects.reverse()));
  expect(performance.now() - started).toBeLessThan(10_000);
  expect(result).toMatchObject({ kind: 'ready', plan: { revision: 2_000_000n } });
});

function nameOf(object: StoredSnapshot | undefined): string {
  return object?.name.text ?? '';
}

describe('a fork, and a revision as target', () => {
  const OLD = [full(100, 0), delta(101, 140, 100)];
  const NEW = [full(120, 10_000), delta(121, 130, 10_100)];
  const forked = {
    ...asNamed([...OLD, ...NEW]),
    answers: [{ lower: nameOf(NEW[1]), higher: nameOf(OLD[1]), verdict: 'differs' as const }],
  };

  test('that one branch alone reaches is of that branch, and the other one is told', () => {
    const result = planRestore({ ...forked, targetRevision: 135n });
    expect(sketch(planOf(result))).toBe('base 100, 101-135 of 101-140');
    expect(result.warnings.map(({ text }) => text)).toContain(
      'begins another timeline, which is passed over',
    );
  });

  test('that both reach is refused, and either timeline gives it', () => {
    expect(planRestore({ ...forked, targetRevision: 125n }).kind).toBe('fork');
    const planned = (timeline: 'newest' | 'highest') =>
      sketch(planOf(planRestore({ ...forked, targetRevision: 125n, timeline })));
    expect(planned('newest')).toBe('base 120, 121-125 of 121-130');
    expect(planned('highest')).toBe('base 100, 101-125 of 101-140');
  });

  test('a chosen timeline that does not reach it is not left for the other one', () => {
    const result = planRestore({ ...forked, targetRevision: 135n, timeline: 'newest' });
    expect(result).toMatchObject({ kind: 'gap', wanted: 135n, best: { revision: 130n } });
    expect(planRestore({ ...forked, targetRevision: 110n, timeline: 'newest' }).kind).toBe('nothing');
  });
});
