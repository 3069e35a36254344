/** Which revision was reached at a time, by what objects, names and manifests tell. */
import { describe, expect, test } from 'vitest';
import { type DeltaAnswer, planTime, type TimePlan } from '../../src/snapshot/at-time.js';
import type { StoredSnapshot } from '../../src/snapshot/plan.js';
import { asNamed, delta, full } from './objects.js';

const EPOCH_MS = 1_700_000_000_000;
const at = (secs: number) => EPOCH_MS + secs * 1000;

/** Each revision arrives a second after the one before; revision 100 at second 0. */
function arrivals({ name }: StoredSnapshot, timeMs: number): DeltaAnswer {
  const wanted = BigInt(100 + Math.floor((timeMs - EPOCH_MS) / 1000));
  const reached = wanted < name.start ? null : wanted < name.last ? wanted : name.last;
  return {
    firstRevision: name.start,
    reachedRevision: reached,
    reachedMs: reached === null ? null : at(Number(reached) - 100),
    nextMs: reached === name.last ? null : at(Number(reached ?? name.start - 1n) + 1 - 100),
    setBackMs: 0,
  };
}

/** Asks deltas as a restore does; counts how many. */
function ask(objects: readonly StoredSnapshot[], secs: number): { plan: TimePlan; asked: string[] } {
  const answers = new Map<string, DeltaAnswer>();
  for (;;) {
    const plan = planTime(asNamed(objects), at(secs), answers);
    if (plan.kind !== 'needs-delta') return { plan, asked: [...answers.keys()] };
    expect(answers.has(plan.object.name.text)).toBe(false);
    answers.set(plan.object.name.text, arrivals(plan.object, at(secs)));
  }
}

function momentOf(objects: readonly StoredSnapshot[], secs: number) {
  const { plan, asked } = ask(objects, secs);
  if (plan.kind !== 'moment') throw new Error(`unexpected ${plan.kind}`);
  const { reached, next, unknown } = plan.moment;
  return { reached: reached.revision, by: reached.by, next: next?.revision, unknown, asked: asked.length };
}

const CHAIN = [full(100, 0), delta(101, 110, 11), delta(111, 130, 31), delta(131, 140, 41)];

describe('a chain of deltas', () => {
  test.each([
    [1, 101n],
    [5.5, 105n],
    [10, 110n],
    [20, 120n],
    [39, 139n],
  ])('second %d is revision %d, exactly', (secs, revision) => {
    expect(momentOf(CHAIN, secs)).toMatchObject({
      reached: revision,
      next: revision + 1n,
      unknown: undefined,
    });
  });

  test('only the delta whose times hold the moment is asked; at its very end the next one, too', () => {
    expect(momentOf(CHAIN, 20).asked).toBe(1);
    expect(momentOf(CHAIN, 11).asked).toBe(2);
  });

  test('after everything: the newest, and no delta is asked', () => {
    expect(momentOf(CHAIN, 500)).toEqual({
      reached: 140n,
      by: 'object',
      next: undefined,
      unknown: undefined,
      asked: 0,
    });
  });

  test('before everything: what the earliest is', () => {
    expect(ask(CHAIN, -50).plan).toMatchObject({ kind: 'too-early', earliest: { revision: 100n } });
  });

  test('a manifest states the arrival of the last event: its delta need not be asked', () => {
    const objects = [full(100, 0), delta(101, 110, 11, { endedAtMs: at(10) }), delta(111, 130, 31)];
    expect(momentOf(objects, 10.5)).toMatchObject({ reached: 110n, by: 'event', next: 111n, asked: 1 });
  });
});

describe('what is not exact is said', () => {
  test('inside a hole between deltas', () => {
    const objects = [full(100, 0), delta(101, 110, 11), delta(121, 140, 41)];
    expect(momentOf(objects, 15)).toMatchObject({
      reached: 110n,
      next: 121n,
      unknown: { from: 111n, to: 120n },
    });
  });

  test('between fulls without deltas', () => {
    const objects = [full(100, 0), full(160, 60)];
    expect(momentOf(objects, 30)).toMatchObject({
      reached: 100n,
      by: 'object',
      next: 160n,
      unknown: { from: 101n, to: 160n },
    });
    expect(momentOf(objects, 61)).toMatchObject({ reached: 160n, next: undefined });
  });

  test('a full behind the last delta', () => {
    expect(momentOf([...CHAIN, full(190, 90)], 60)).toMatchObject({
      reached: 140n,
      next: 190n,
      unknown: { from: 141n, to: 190n },
    });
  });
});

test('overlapping deltas of two writers: the revision is that of the events, whoever cut them', () => {
  const objects = [full(100, 0), delta(101, 120, 21), delta(101, 125, 26), delta(118, 140, 41)];
  for (const secs of [3, 12, 20, 21, 24, 25, 30]) {
    expect(momentOf(objects, secs)).toMatchObject({ reached: BigInt(100 + secs), unknown: undefined });
  }
});

test('a full of which only the name is known is read before it decides', () => {
  const objects = [full(100, 0), full(160, 60)];
  const plan = planTime({ objects }, at(100), new Map());
  expect(plan).toMatchObject({ kind: 'needs-base-revision', object: objects[1] });
});

test('a fork is chosen by the reader, whatever the time', () => {
  const objects = [full(100, 0), delta(101, 140, 41), full(120, 5_000), delta(121, 130, 5_100)];
  const input = { ...asNamed(objects), answers: [] };
  expect(planTime(input, at(20), new Map()).kind).toBe('undecided');
  const newest = planTime({ ...input, timeline: 'newest' }, at(5_050), new Map());
  expect(newest).toMatchObject({ kind: 'needs-delta', object: objects[3] });
});
