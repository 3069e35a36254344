import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { planRestore } from '../../src/snapshot/chain.js';
import type { ContentAnswer, Plan, PlanInput, PlanResult } from '../../src/snapshot/plan.js';
import { FOUND, type Scene } from './found.js';
import { type Life, type Made, type Tool, World } from './model.js';
import {
  agree,
  type Branch,
  bestReach,
  faultOf,
  firstOf,
  isFull,
  sightOf,
  trueBranches,
  truthfulAnswers,
} from './oracle.js';

/** `PLANNER_RUNS=20000` for the long form. */
const RUNS = Number(process.env.PLANNER_RUNS ?? 1_500);
/** More rounds of reading bases and answering than a plan can need: each round takes one full or a set of questions. */
const MAX_ROUNDS = 60;

describe('hazards 1, 3, 44: against a world that knows what happened', () => {
  test('one history: the newest state that the objects hold without a hole is found, and gaps are told', () => {
    fc.assert(
      fc.property(scenes([]), fc.option(fc.integer({ min: 1, max: 80 })), (scene, target) => {
        const { world, evidence, usable, input } = stage(scene);
        const { result, asKnown } = settle({ ...input, ...targetOf(target) }, evidence, world);
        const known = asKnown(usable);
        const reach = bestReach(all(world), known, target ?? Number.POSITIVE_INFINITY);
        if (reach === 0) return void expect(result.kind).toBe('nothing');
        if (result.kind !== 'ready' && result.kind !== 'gap') throw new Error(`unexpected ${result.kind}`);
        expect(planOf(result)?.revision).toBe(BigInt(reach));
        const wanted = target ?? Math.max(...known.map(({ last }) => last));
        expect(result.kind).toBe(reach >= wanted ? 'ready' : 'gap');
        if (result.kind === 'gap') expect(result.missing).toEqual(holes(known, reach, wanted));
      }),
      { numRuns: RUNS },
    );
  });

  test('rollbacks: no plan mixes two histories or passes over a revision, and every fork is listed', () => {
    fc.assert(
      fc.property(scenes(['rollback']), (scene) => {
        const { world, evidence, usable, input } = stage(scene);
        fc.pre(world.lives.every((life) => sightOf(life, world, evidence) !== 'unseen'));
        const { result, asKnown } = settle(input, evidence, world);
        const reachOf = (branch: Branch) => bestReach(branch, asKnown(usable));
        const contenders = trueBranches(world, evidence).filter((branch) => reachOf(branch) > 0);
        if (contenders.length === 0) return void expect(result.kind).toBe('nothing');
        if (result.warnings.some(({ text }) => text.includes('either of two timelines'))) return;
        if (result.kind === 'fork') {
          expect(contenders.length).toBeGreaterThan(1);
          expect(result.branches.length).toBeLessThanOrEqual(contenders.length);
        } else if (!world.lives.some(isRestoredFromUnseen)) {
          const reach = Math.max(...contenders.map(reachOf));
          // More than that, where objects of two lives were found to be of one history.
          expect(Number(planOf(result)?.revision)).toBeGreaterThanOrEqual(reach);
          // No choice was offered, so there must have been none.
          for (const branch of contenders) expect(isWithin(branch, result, asKnown(usable))).toBe(true);
        }
        const newest = settle({ ...input, timeline: 'newest' }, evidence, world);
        const last = trueBranches(world, evidence)
          .map((branch) => bestReach(branch, newest.asKnown(usable)))
          .filter((reach) => reach > 0)
          .at(-1);
        expect(planOf(newest.result)?.revision).toBe(BigInt(last ?? 0));
      }),
      { numRuns: RUNS, examples: FOUND.map((scene) => [scene]) },
    );
  });

  test('rollbacks: nor does a plan to an earlier revision, on either timeline', () => {
    fc.assert(
      fc.property(
        scenes(['rollback']),
        fc.integer({ min: 1, max: 80 }),
        fc.constantFrom('newest' as const, 'highest' as const),
        (scene, target, timeline) => {
          const { world, evidence, input } = stage(scene);
          fc.pre(world.lives.every((life) => sightOf(life, world, evidence) !== 'unseen'));
          const { result } = settle({ ...input, ...targetOf(target), timeline }, evidence, world);
          expect(planOf(result)?.revision ?? 0n).toBeLessThanOrEqual(BigInt(target));
        },
      ),
      { numRuns: RUNS, examples: FOUND.map((scene) => [scene, 5, 'newest']) },
    );
  });
});

function all({ lives }: World): Branch {
  return { lives, parent: undefined, splitAt: 0 };
}

/** Whether the plan's history holds all that the branch's objects could give. */
function isWithin(branch: Branch, result: PlanResult, known: readonly Made[]): boolean {
  const used = planOf(result);
  const names = [used?.base, ...(used?.deltas ?? []).map(({ object }) => object)].map(
    (object) => object?.name.text,
  );
  const planned = known.filter(({ object }) => names.includes(object.name.text));
  const reach = bestReach(branch, known);
  return branch.lives.some((life) =>
    planned.some((made) => agree(life, made.life, Math.min(reach, made.last))),
  );
}

/**
 * A restore of what had been rolled back without being declared: if content cannot tell the parent from the life
 * before it, that one counts as superseded, too.
 */
function isRestoredFromUnseen({ declared, parent }: Life): boolean {
  return declared && parent?.parent !== undefined && !parent.declared;
}

interface Settlement {
  readonly result: PlanResult;
  /** Objects by what the planner was told: a full that nobody has read ends where its name says. */
  readonly asKnown: (made: readonly Made[]) => Made[];
}

/** Asks until nothing more is to be read or answered; every plan on the way must be sound. */
function settle(input: PlanInput, evidence: readonly Made[], world: World): Settlement {
  const truth = new Map(evidence.map((made) => [made.object.name.text, made]));
  const baseRevisions = new Map<string, bigint>();
  const answers: ContentAnswer[] = [];
  const asKnown = (all: readonly Made[]): Made[] =>
    all.map((made) => {
      const { name, manifest } = made.object;
      return { ...made, last: Number(baseRevisions.get(name.text) ?? manifest?.revision ?? name.last) };
    });
  for (let round = 0; round < MAX_ROUNDS; round += 1) {
    const result = planRestore({ ...input, baseRevisions, answers });
    for (const plan of knownPlans(result)) expect(faultOf(plan, evidence, world.lives)).toBeUndefined();
    const unread = unreadBase(result);
    if (unread !== undefined) baseRevisions.set(unread, BigInt(truth.get(unread)?.last ?? 0));
    else if (result.kind === 'questions') answers.push(...truthfulAnswers(result.questions, evidence));
    else return { result, asKnown };
  }
  throw new Error('the planner goes on asking');
}

function unreadBase(result: PlanResult): string | undefined {
  if (result.kind === 'needs-base-revision') return result.base.name.text;
  const plans = result.kind === 'fork' ? result.branches.map(({ plan }) => plan) : [planOf(result)];
  return plans.find((plan) => plan !== undefined && !plan.baseRevisionKnown)?.base.name.text;
}

function knownPlans(result: PlanResult): Plan[] {
  const plans =
    result.kind === 'fork'
      ? result.branches.map(({ plan }) => plan)
      : result.kind === 'gap'
        ? [result.best, ...result.nextBest]
        : [planOf(result)];
  return plans.filter((plan) => plan?.baseRevisionKnown === true) as Plan[];
}

function planOf(result: PlanResult): Plan | undefined {
  if (result.kind === 'ready') return result.plan;
  return result.kind === 'gap' ? result.best : undefined;
}

function stage(scene: Scene) {
  const world = new World(scene.steps, scene.first);
  const picked = (indexes: readonly number[]) =>
    new Set(indexes.map((index) => world.made[index % world.made.length]?.object.name.text));
  const [lost, bare, excluded] = [scene.lost, scene.bare, scene.excluded].map(picked);
  const firsts = new Set(world.lives.map((life) => firstOf(life)?.object.name.text));
  const evidence = world.made
    .filter(({ object }) => lost?.has(object.name.text) === false)
    .map((made) => {
      const { manifest: _, ...plain } = made.object;
      const strip = bare?.has(made.object.name.text) && !firsts.has(made.object.name.text);
      return strip ? { ...made, object: plain } : made;
    });
  const usable = evidence.filter(({ object }) => !excluded?.has(object.name.text));
  const exclude = evidence.map(({ object }) => object.name.text).filter((name) => excluded?.has(name));
  const input: PlanInput = { objects: evidence.map(({ object }) => object), exclude };
  return { world, evidence, usable, input };
}

function targetOf(target: number | null): Pick<PlanInput, 'targetRevision'> {
  return target === null ? {} : { targetRevision: BigInt(target) };
}

function holes(usable: readonly Made[], reach: number, wanted: number): { from: bigint; to: bigint }[] {
  const found: { from: bigint; to: bigint }[] = [];
  for (let revision = reach + 1; revision <= wanted; revision += 1) {
    if (usable.some((made) => !isFull(made) && made.start <= revision && revision <= made.last)) continue;
    const open = found.at(-1);
    if (open !== undefined && open.to === BigInt(revision) - 1n) open.to = BigInt(revision);
    else found.push({ from: BigInt(revision), to: BigInt(revision) });
  }
  return found;
}

function scenes(extra: readonly 'rollback'[]): fc.Arbitrary<Scene> {
  const tool = fc.constantFrom<Tool>('ours', 'go');
  const writer = fc.nat({ max: 1 });
  const indexes = fc.array(fc.nat({ max: 40 }), { maxLength: 6 });
  const write = fc.record({
    do: fc.constant('write' as const),
    count: fc.integer({ min: 1, max: 6 }),
    secs: fc.integer({ min: 0, max: 60 }),
  });
  const delta = fc.record({ do: fc.constant('delta' as const), writer });
  const full = fc.record({
    do: fc.constant('full' as const),
    writer,
    during: fc.nat({ max: 9 }),
    secs: fc.nat({ max: 900 }),
  });
  const join = fc.record({
    do: fc.constant('join' as const),
    tool,
    early: fc.nat({ max: 3 }),
    clock: fc.nat({ max: 9 }),
  });
  const leave = fc.record({ do: fc.constant('leave' as const), writer });
  const rollback = fc.record({
    do: fc.constant('rollback' as const),
    back: fc.integer({ min: 1, max: 15 }),
    declared: fc.boolean(),
    tool,
    idle: fc.nat({ max: 12 }),
    long: fc.boolean(),
    compare: fc.boolean(),
  });
  const steps = fc.oneof(
    { weight: 5, arbitrary: write },
    { weight: 6, arbitrary: delta },
    { weight: 2, arbitrary: full },
    { weight: 1, arbitrary: join },
    { weight: 1, arbitrary: leave },
    { weight: extra.length * 3, arbitrary: rollback },
  );
  return fc.record({
    first: tool,
    steps: fc.array(steps, { maxLength: 40, size: 'max' }),
    lost: indexes,
    bare: indexes,
    excluded: indexes,
  });
}
