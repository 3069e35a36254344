/** How far back a store remembers: every segment before the base of a plan, of its own history only. */
import { describe, expect, test } from 'vitest';
import { planRestore } from '../../src/snapshot/chain.js';
import { olderSegments } from '../../src/snapshot/older.js';
import type { PlanInput, StoredSnapshot } from '../../src/snapshot/plan.js';
import { asNamed, delta, full, planOf, sketch } from './objects.js';

function segments(objects: readonly StoredSnapshot[], more: Partial<PlanInput> = {}): string[] {
  const input = { ...asNamed(objects), ...more };
  const plan = planOf(planRestore(input));
  if (plan === undefined) throw new Error('no plan');
  return olderSegments(input, plan).map(sketch);
}

describe('olderSegments', () => {
  test('a single full has nothing before it', () => {
    expect(segments([full(100, 0)])).toEqual(['base 100']);
    expect(segments([full(100, 0), delta(101, 120, 10)])).toEqual(['base 100, 101-120 of 101-120']);
  });

  test('the oldest full that deltas continue up to the base is where history begins', () => {
    const objects = [
      full(100, 0),
      delta(101, 150, 10),
      full(150, 20),
      delta(151, 200, 30),
      full(200, 40),
      delta(201, 230, 50),
    ];
    expect(segments(objects)).toEqual([
      'base 100, 101-150 of 101-150, 151-200 of 151-200',
      'base 200, 201-230 of 201-230',
    ]);
    expect(segments(objects.slice(0, 5))).toEqual([
      'base 100, 101-150 of 101-150, 151-200 of 151-200',
      'base 200',
    ]);
  });

  test('across a hole, each island has a segment', () => {
    const objects = [full(100, 0), delta(101, 150, 10), full(180, 20), delta(181, 200, 30), full(200, 40)];
    expect(segments(objects)).toEqual([
      'base 100, 101-150 of 101-150',
      'base 180, 181-200 of 181-200',
      'base 200',
    ]);
    const fullsOnly = [full(100, 0), full(200, 10), full(300, 20)];
    expect(segments(fullsOnly)).toEqual(['base 100', 'base 200', 'base 300']);
  });

  test('an excluded object is not read', () => {
    const objects = [full(100, 0), delta(101, 200, 10), full(200, 20)];
    expect(segments(objects, { exclude: [objects[0]?.name.text ?? ''] })).toEqual(['base 200']);
  });

  test('another history is never taken for an older part of this one', () => {
    const old = [full(100, 0, {}), delta(101, 200, 10, {}), delta(201, 260, 20, {})];
    // A day later, at a lower revision: somebody restored, and nobody said so.
    const next = [full(150, 90_000, {}), delta(151, 170, 90_010, {})];
    const objects = [...old, ...next];
    const asked = planRestore({ objects });
    const questions = asked.kind === 'questions' ? asked.questions : [];
    expect(questions.length).toBeGreaterThan(0);
    const answers = questions.map(({ lower, higher }) => ({
      lower: lower.name.text,
      higher: higher.name.text,
      verdict: 'unknown' as const,
    }));
    expect(planRestore({ objects, answers }).kind).toBe('fork');
    expect(segments(objects, { answers, timeline: 'newest' })).toEqual(['base 150, 151-170 of 151-170']);
  });
});
