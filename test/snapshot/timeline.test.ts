import { describe, expect, test } from 'vitest';
import { planRestore } from '../../src/snapshot/chain.js';
import type { ContentQuestion, PlanInput, StoredSnapshot, Verdict } from '../../src/snapshot/plan.js';
import { NARROW_SKEW_SECS, WIDE_SKEW_SECS } from '../../src/snapshot/timeline.js';
import { asNamed, delta, full, planOf, sketch } from './objects.js';

/** The Go tool's: 101-200 were written, etcd was put back to 150, and went on from there. */
const OLD = [full(100, 0), delta(101, 200, 20)];
const NEW = [full(160, 2_000), delta(161, 230, 2_020)];

describe('hazard 44: a fork that nobody declared', () => {
  const input = asNamed([...OLD, ...NEW]);

  test('is asked about: does the end of the lower one stand in the higher one?', () => {
    const result = planRestore(input);
    expect(questionsOf(result)).toEqual([[OLD[1], NEW[1]]]);
  });

  test.each<Verdict>(['differs', 'unknown'])('%s: it is refused, with both branches', (verdict) => {
    const result = answered(input, verdict);
    expect(result).toMatchObject({
      kind: 'fork',
      branches: [
        {
          first: nameOf(NEW[0]),
          begins: 'undeclared',
          highestRevision: 230n,
          isNewest: true,
          isHighest: true,
        },
        { first: nameOf(OLD[0]), begins: 'oldest', highestRevision: 200n, isNewest: false, objects: 2 },
      ],
    });
    const plans = result.kind === 'fork' ? result.branches.map(({ plan }) => sketch(plan)) : [];
    expect(plans).toEqual(['base 160, 161-230 of 161-230', 'base 100, 101-200 of 101-200']);
  });

  test('stands: both are one history after all', () => {
    expect(answered(input, 'stands')).toMatchObject({ kind: 'ready', plan: { revision: 230n } });
  });

  test('--timeline decides without questions', () => {
    const shorter = asNamed([...OLD, NEW[0] ?? full(1, 1), delta(161, 190, 2_020)]);
    expect(sketch(planOf(planRestore({ ...shorter, timeline: 'newest' })))).toBe(
      'base 160, 161-190 of 161-190',
    );
    expect(sketch(planOf(planRestore({ ...shorter, timeline: 'highest' })))).toBe(
      'base 100, 101-200 of 101-200',
    );
  });

  test('so does a base, and a revision that only one of them holds', () => {
    const based = planRestore({ ...input, base: nameOf(OLD[0]) });
    expect(based).toMatchObject({ kind: 'ready', plan: { revision: 200n } });
    expect(based.warnings).toMatchObject([{ object: nameOf(NEW[0]) }]);
    expect(sketch(planOf(planRestore({ ...input, targetRevision: 120n })))).toBe(
      'base 100, 101-120 of 101-200',
    );
    expect(sketch(planOf(planRestore({ ...input, targetRevision: 210n })))).toBe(
      'base 160, 161-210 of 161-230',
    );
    expect(planRestore({ ...input, targetRevision: 180n }).kind).toBe('questions');
  });

  test('an excluded full is still evidence, and its deltas are not joined to the old ones', () => {
    const objects = [...OLD, NEW[0] ?? full(1, 1), delta(161, 180, 2_020), delta(181, 230, 2_040)];
    const result = planRestore({ ...asNamed(objects), exclude: [nameOf(NEW[0])] });
    expect(result).toMatchObject({ kind: 'ready', plan: { revision: 200n } });
    expect(result.warnings.map(({ object }) => object)).toContain(nameOf(NEW[0]));
  });
});

describe('times alone mislead', () => {
  test.each([
    ['ours', NARROW_SKEW_SECS, {}],
    ['the Go tool, whose fulls are named when their stream has ended', WIDE_SKEW_SECS, undefined],
  ])('%s: within %d s a lower full is no suspicion, beyond it is', (_, skewSecs, manifest) => {
    const at = (secs: number) => planRestore(asNamed([...OLD, full(160, 20 + secs, manifest)]));
    expect(at(skewSecs)).toMatchObject({ kind: 'ready', plan: { revision: 200n } });
    expect(at(skewSecs + 1).kind).toBe('questions');
  });

  // The new timeline's first full is strange, being 905 s after the old end. What lies within 900 s of it need not be.
  const [first, next] = [full(160, 925), delta(161, 230, 940)];
  const between = full(180, 915);

  test('what may be of either timeline is left out of both', () => {
    const ofEither = [between, delta(181, 190, 918)];
    const input = asNamed([...OLD, ...ofEither, first, next]);
    const result = planRestore({ ...input, timeline: 'highest' });
    expect(sketch(planOf(result))).toBe('base 160, 161-230 of 161-230');
    const leftOut = result.warnings.filter(({ text }) => text.includes('either of two'));
    expect(leftOut.map(({ object }) => object)).toEqual(ofEither.map(nameOf));
    expect(sketch(planOf(planRestore({ ...input, base: nameOf(OLD[0]) })))).toBe(
      'base 100, 101-200 of 101-200',
    );
  });

  test('a delta from just before the strange full is of the old timeline when no full comes before it', () => {
    const input = asNamed([...OLD, delta(201, 240, 918), first, next]);
    const result = planRestore({ ...input, timeline: 'highest' });
    expect(sketch(planOf(result))).toBe('base 100, 101-200 of 101-200, 201-240 of 201-240');
  });

  test('what continues an unsure full, by its manifest, is as unsure', () => {
    const continued = delta(175, 240, 945, { previous: { name: nameOf(between) } });
    const result = planRestore({
      ...asNamed([...OLD, between, first, next, continued]),
      timeline: 'highest',
    });
    expect(planOf(result)?.revision).toBe(230n);
  });
});

describe('what manifests say', () => {
  test('another record at the same revision is another history, whatever the times', () => {
    const objects = [
      full(100, 0, { record: 'a' }),
      delta(101, 200, 20, { record: 'b' }),
      full(200, 21, { record: 'c' }),
    ];
    const result = planRestore({ objects: [...objects, delta(201, 210, 22, {})] });
    expect(result.kind).toBe('fork');
    const same = [full(200, 21, { record: 'b' }), delta(201, 210, 22, {})];
    expect(planRestore({ objects: [...objects.slice(0, 2), ...same] })).toMatchObject({ kind: 'ready' });
  });

  test('a writer that found another record begins a new timeline, within any skew', () => {
    const old = [full(100, 0, {}), delta(101, 200, 2, {})];
    const diverged = full(160, 4, { divergedFrom: nameOf(old[1]) });
    const objects = [...old, diverged, delta(161, 230, 6, { previous: { name: nameOf(diverged) } })];
    const result = planRestore({ objects });
    expect(result.kind === 'fork' && result.branches.map(({ plan }) => sketch(plan))).toEqual([
      'base 160, 161-230 of 161-230',
      'base 100, 101-200 of 101-200',
    ]);
  });

  test('an object that names what it continues is of that history, though a strange full lies between', () => {
    const old = [full(100, 0, {}), delta(101, 200, 20, {})];
    const back = delta(201, 220, 400, { previous: { name: nameOf(old[1]) } });
    const objects = [...old, full(5, 300, {}), delta(6, 10, 320, {}), back];
    const result = planRestore({ objects, timeline: 'highest' });
    expect(sketch(planOf(result))).toBe('base 100, 101-200 of 101-200, 201-220 of 201-220');
  });

  test('a lost full that began a new timeline is known through its successor', () => {
    const lost = full(160, 2_000, {});
    const objects = [full(100, 0, {}), delta(101, 200, 20, {})];
    const orphans = [
      delta(161, 180, 2_020, { previous: { name: nameOf(lost) } }),
      delta(181, 230, 2_040, { previous: { name: nameOf(delta(161, 180, 2_020, {})) } }),
    ];
    const result = planRestore({ objects: [...objects, ...orphans] });
    expect(result).toMatchObject({ kind: 'ready', plan: { revision: 200n } });
  });
});

describe('a declared restore is followed', () => {
  const restoredFrom = { base: nameOf(OLD[0]), revision: 150n, restoredAtMs: 1_700_001_990_000 };
  const restored = [full(155, 2_000, { restoredFrom }), delta(156, 190, 2_020, { restoredFrom })];

  test('the old end is superseded, though it is higher', () => {
    const result = planRestore(asNamed([...OLD, ...restored]));
    expect(sketch(planOf(result))).toBe('base 155, 156-190 of 156-190');
    expect(planRestore({ ...asNamed([...OLD, ...restored]), timeline: 'highest' })).toMatchObject({
      plan: { revision: 190n },
    });
  });

  test('what both share is used, up to the restored revision and no farther', () => {
    const early = delta(151, 190, 2_020, { restoredFrom });
    const input = asNamed([...OLD, full(155, 2_000, { restoredFrom }), early]);
    const result = planRestore({ ...input, exclude: [nameOf(full(155, 2_000, {}))] });
    expect(sketch(planOf(result))).toBe('base 100, 101-150 of 101-200, 151-190 of 151-190');
    const later = asNamed([...OLD, ...restored]);
    expect(planRestore({ ...later, exclude: [nameOf(restored[0])] })).toMatchObject({
      kind: 'gap',
      missing: [{ from: 151n, to: 155n }],
      best: { revision: 150n },
    });
    expect(sketch(planOf(planRestore({ ...later, targetRevision: 130n })))).toBe(
      'base 100, 101-130 of 101-200',
    );
  });

  test('the newest state restored: its writer goes on with a delta', () => {
    const all = { ...restoredFrom, revision: 200n };
    const on = delta(201, 220, 2_020, { restoredFrom: all, previous: { name: nameOf(OLD[1]) } });
    expect(sketch(planOf(planRestore(asNamed([...OLD, on]))))).toBe(
      'base 100, 101-200 of 101-200, 201-220 of 201-220',
    );
  });

  test('a superseded end can still be had: by its own full', () => {
    const own = full(195, 30);
    const result = planRestore({ ...asNamed([...OLD, own, ...restored]), base: nameOf(own) });
    expect(sketch(planOf(result))).toBe('base 195, 196-200 of 101-200');
  });

  test('restored twice from the same state: two timelines, the later one follows the earlier one', () => {
    const again = { ...restoredFrom, restoredAtMs: 1_700_003_000_000 };
    const objects = [
      ...OLD,
      ...restored,
      full(152, 3_010, { restoredFrom: again }),
      delta(153, 160, 3_020, {}),
    ];
    const result = planRestore(asNamed(objects));
    expect(result.kind).toBe('fork');
    expect(sketch(planOf(planRestore({ ...asNamed(objects), timeline: 'newest' })))).toBe(
      'base 152, 153-160 of 153-160',
    );
  });

  test('its first full has lost its manifest: the next object tells', () => {
    const { manifest: _, ...bare } = restored[0] ?? full(1, 1);
    const next = delta(156, 190, 2_020, { restoredFrom, previous: { name: bare.name.text } });
    const objects = [...OLD, bare, next];
    const baseRevisions = new Map([[bare.name.text, 155n]]);
    const result = planRestore({ objects, baseRevisions });
    expect(result.kind).toBe('ready');
    expect(sketch(planOf(result))).toBe('base 155, 156-190 of 156-190');
  });

  test('restored from a base that nobody knows: nothing before is relied on', () => {
    const elsewhere = { base: 'copied-by-hand.db', revision: 150n };
    const objects = [...OLD, delta(151, 190, 2_020, { restoredFrom: elsewhere })];
    expect(planRestore(asNamed(objects))).toMatchObject({ kind: 'nothing', reason: 'no full can be used' });
  });
});

describe('hazard 46: an empty etcd that was started by mistake', () => {
  const good = [full(100_000, 0), delta(100_001, 100_200, 20)];

  test.each([
    ['at once', [full(3, 25)], 'ready'],
    ['later', [full(3, 5_000)], 'questions'],
    ['later, with some writes', [full(3, 5_000), delta(4, 40, 5_020)], 'questions'],
    ['of ours', [full(3, 5_000, { divergedFrom: nameOf(good[1]) })], 'fork'],
  ])('%s: it never wins by default', (_, mistaken, kind) => {
    const input = asNamed([...good, ...mistaken]);
    expect(planRestore(input).kind).toBe(kind);
    const result = answered(input, 'differs');
    if (kind === 'ready') expect(planOf(result)?.revision).toBe(100_200n);
    else
      expect(result).toMatchObject({ kind: 'fork', branches: [{ isHighest: false }, { isHighest: true }] });
    expect(planOf(planRestore({ ...input, timeline: 'highest' }))?.revision).toBe(100_200n);
    const without = planRestore({ ...input, exclude: mistaken.map(nameOf) });
    expect(without).toMatchObject({ kind: 'ready', plan: { revision: 100_200n } });
  });
});

describe('one answer is not enough', () => {
  test('two timelines that agree with a third one need not agree with each other', () => {
    // Put back to 160 and backed up right there; put back again, to 150, and written to.
    const input = asNamed([...OLD, full(155, 2_000), full(152, 4_000), delta(153, 180, 4_020)]);
    const pairs = new Set<string>();
    const result = answerEach(input, ({ lower, higher }) => {
      pairs.add(`${lower.name.last} in ${higher.name.last}`);
      return lower.name.last === 155n && higher.name.last === 200n ? 'stands' : 'differs';
    });
    expect(result.kind).toBe('fork');
    expect([...pairs]).toContain('180 in 200');
  });

  test('every pair of islands that could be joined is compared', () => {
    const old = [full(100, 0), delta(101, 200, 20), full(400, 30), delta(401, 500, 40)];
    const later = [full(120, 3_000), delta(121, 150, 3_010), full(410, 3_020), delta(411, 450, 3_030)];
    const result = planRestore(asNamed([...old, ...later]));
    expect(questionsOf(result).map(([low, high]) => `${low?.name.last} in ${high?.name.last}`)).toEqual([
      '450 in 500',
      '150 in 200',
    ]);
  });
});

function answered(input: PlanInput, verdict: Verdict) {
  return answerEach(input, () => verdict);
}

function answerEach(input: PlanInput, decide: (question: ContentQuestion) => Verdict) {
  const answers = [...(input.answers ?? [])];
  for (let round = 0; round < 10; round += 1) {
    const result = planRestore({ ...input, answers });
    if (result.kind !== 'questions') return result;
    for (const question of result.questions) {
      const { lower, higher } = question;
      answers.push({ lower: lower.name.text, higher: higher.name.text, verdict: decide(question) });
    }
  }
  throw new Error('the planner goes on asking');
}

function questionsOf(result: ReturnType<typeof planRestore>): (StoredSnapshot | undefined)[][] {
  return result.kind === 'questions' ? result.questions.map(({ lower, higher }) => [lower, higher]) : [];
}

function nameOf(object: StoredSnapshot | undefined): string {
  return object?.name.text ?? '';
}
