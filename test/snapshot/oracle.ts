/** Judges plans by what the model's objects truly hold. */
import type { ContentAnswer, ContentQuestion, Plan } from '../../src/snapshot/plan.js';
import { NARROW_SKEW_SECS, WIDE_SKEW_SECS } from '../../src/snapshot/timeline.js';
import type { Life, Made, World } from './model.js';

/** Why the plan would not give the state of one history at its revision; undefined if it would. */
export function faultOf(plan: Plan, made: readonly Made[], lives: readonly Life[]): string | undefined {
  const truth = new Map(made.map((one) => [one.object.name.text, one]));
  const base = truth.get(plan.base.name.text);
  if (base === undefined) return 'the base is in no store';
  const state = base.life.records.slice(0, base.last + 1);
  for (const { object, from, to } of plan.deltas) {
    const delta = truth.get(object.name.text);
    if (delta === undefined) return `${object.name.text} is in no store`;
    if (BigInt(delta.start) > from || BigInt(delta.last) < to)
      return `${object.name.text} lacks ${from}-${to}`;
    if (from > BigInt(state.length)) return `hole before ${from}`;
    for (let revision = state.length; revision <= Number(to); revision += 1) {
      state.push(delta.life.records[revision] ?? 'nothing');
    }
  }
  if (state.length - 1 < Number(plan.revision)) return `ends at ${state.length - 1}, not ${plan.revision}`;
  return lives.some((life) => isPrefix(state, life)) ? undefined : 'mixes two histories';
}

/** The highest revision that the objects of a branch (and of those it was declared to come from) give, by search. */
export function bestReach(
  branch: Branch,
  usable: readonly Made[],
  target = Number.POSITIVE_INFINITY,
): number {
  const parts = partsOf(branch, usable, target);
  const reached = parts
    .filter(({ full, last, cut }) => full && !cut && last <= target)
    .map(({ last }) => last);
  const seen = new Set(reached);
  for (let at = reached.pop(); at !== undefined; at = reached.pop()) {
    for (const { full, start, last } of parts) {
      if (full || start > at + 1 || last <= at || seen.has(last)) continue;
      reached.push(last);
      seen.add(last);
    }
  }
  return Math.max(0, ...seen);
}

export function truthfulAnswers(
  questions: readonly ContentQuestion[],
  made: readonly Made[],
): ContentAnswer[] {
  const truth = new Map(made.map((one) => [one.object.name.text, one]));
  return questions.map(({ lower, higher }) => {
    const [low, high] = [truth.get(lower.name.text), truth.get(higher.name.text)];
    const stands = low !== undefined && low.life.records[low.last] === high?.life.records[low.last];
    return { lower: lower.name.text, higher: higher.name.text, verdict: stands ? 'stands' : 'differs' };
  });
}

/** How a life stands to the one before it, as names, times and manifests can show it. */
export type Sight =
  /** Nothing is known of it, or of anything before it. */
  | 'alone'
  /** It continues the old end, or had passed it before its first backup: then there is nothing that could be joined. */
  | 'passed'
  | 'seen'
  /** Outside of the named bounds: a wrong join is possible, and times and names do not tell. */
  | 'unseen';

export function sightOf(life: Life, world: World, evidence: readonly Made[]): Sight {
  const own = evidence.filter((made) => made.life === life);
  const before = evidence.filter((made) => world.lives.indexOf(made.life) < world.lives.indexOf(life));
  if (own.length === 0 || before.length === 0) return 'alone';
  const first = firstOf(life);
  const known = own.find((made) => made.object.name.text === first?.object.name.text);
  // Every life's first backup must still be known, if only by name.
  if (known === undefined) return 'unseen';
  const manifest = known.object.manifest;
  const named = [manifest?.previous?.name, manifest?.restoredFrom?.base].filter((name) => name !== undefined);
  if (named.some((name) => !evidence.some(({ object }) => object.name.text === name))) return 'unseen';
  if (manifest?.restoredFrom === undefined && manifest?.previous !== undefined) return 'passed';
  if (manifest?.restoredFrom !== undefined || manifest?.divergedFrom !== undefined) return 'seen';
  const reached = Math.max(...before.map(({ last }) => last));
  if (Math.min(...own.map((made) => (isFull(made) ? namedLast(made) : made.start))) > reached + 1)
    return 'passed';
  const skewSecs = known.object.name.codec === 'zstd' ? NARROW_SKEW_SECS : WIDE_SKEW_SECS;
  const latest = [...world.lives].reverse().find((other) => before.some((made) => made.life === other));
  const shown = before.some(
    (made) =>
      made.life === latest &&
      made.object.name.createdSecs < known.object.name.createdSecs - skewSecs &&
      namedLast(made) > namedLast(known),
  );
  return shown ? 'seen' : 'unseen';
}

/** What names, times and manifests show as one history. */
export interface Branch {
  readonly lives: Life[];
  /** The restore that it comes from. */
  readonly parent: Branch | undefined;
  readonly splitAt: number;
}

/** What a reader may have to choose from, in the order of their beginnings. */
export function trueBranches(world: World, evidence: readonly Made[]): Branch[] {
  const branches: Branch[] = [];
  for (const life of world.lives.filter((one) => evidence.some((made) => made.life === one))) {
    const latest = branches.at(-1);
    if (latest !== undefined && !life.declared && sightOf(life, world, evidence) === 'passed') {
      latest.lives.push(life);
      continue;
    }
    const from =
      branches.find(({ lives }) => life.parent !== undefined && lives.includes(life.parent)) ?? latest;
    branches.push({ lives: [life], parent: life.declared ? from : undefined, splitAt: life.splitAt });
  }
  return branches.filter((branch) => !branches.some(({ parent }) => parent === branch));
}

/** Whether both hold the same up to a revision. */
export function agree(a: Life, b: Life, revision: number): boolean {
  return a.records.slice(0, revision + 1).every((content, at) => b.records[at] === content);
}

/** The first in the order of the names' times. */
export function firstOf(life: Life): Made | undefined {
  return life.made.toSorted((a, b) => a.object.name.createdSecs - b.object.name.createdSecs)[0];
}

function namedLast({ object }: Made): number {
  return Number(object.manifest?.revision ?? object.name.last);
}

export function isFull({ object }: Made): boolean {
  return object.name.kind === 'full';
}

function isPrefix(state: readonly string[], life: Life): boolean {
  return state.every((content, revision) => life.records[revision] === content);
}

interface Part {
  readonly full: boolean;
  readonly start: number;
  readonly last: number;
  readonly cut: boolean;
}

function partsOf({ lives, parent, splitAt }: Branch, usable: readonly Made[], end: number): Part[] {
  const own = usable
    .filter((made) => lives.includes(made.life) && made.start <= end)
    .map((made) => ({
      full: isFull(made),
      start: made.start,
      last: Math.min(made.last, end),
      cut: made.last > end,
    }));
  return parent === undefined ? own : [...own, ...partsOf(parent, usable, Math.min(end, splitAt))];
}
