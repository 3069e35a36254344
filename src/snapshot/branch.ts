/**
 * Joins timelines that content has shown to be one, and follows declared restores: what remains are the branches,
 * each a history of its own with all the objects that belong to it.
 */
import { isUsable, type Piece, type UsablePiece } from './piece.js';
import type { ContentAnswer, ContentQuestion, Verdict } from './plan.js';
import { lower } from './revision.js';
import type { Timeline } from './timeline.js';

/** A piece, of which the branch's history holds revisions up to `upTo` only (undefined: all). */
export interface BranchPiece {
  readonly piece: UsablePiece;
  readonly upTo: bigint | undefined;
}

export interface History {
  readonly timelines: readonly Timeline[];
  /** Of the branch itself and, up to where it was split off by a restore, of those before it. */
  readonly pieces: readonly BranchPiece[];
  /** No later restore declared that it comes from here. */
  readonly isLeaf: boolean;
}

export interface Settled {
  readonly histories: readonly History[];
  /** What could show that two histories are one. */
  readonly questions: readonly ContentQuestion[];
  /** Left out, since they may belong to either of two histories. */
  readonly unsure: readonly Piece[];
}

export function settleTimelines(timelines: readonly Timeline[], answers: readonly ContentAnswer[]): Settled {
  const verdicts = new Map(answers.map((answer) => [`${answer.lower} ${answer.higher}`, answer.verdict]));
  const group = new Map<Timeline, Timeline[]>(timelines.map((timeline) => [timeline, [timeline]]));
  const questions: ContentQuestion[] = [];
  const unsure = new Set<Piece>();
  for (const timeline of timelines) {
    if (timeline.begins !== 'undeclared' || timeline.parent === undefined) continue;
    const question = timeline.settled ? undefined : questionBetween(timeline.parent, timeline);
    const verdict = question === undefined ? 'differs' : verdictOn(question, verdicts);
    if (verdict === 'stands') {
      merge(group, timeline.parent, timeline);
      continue;
    }
    for (const piece of timeline.unsure) unsure.add(piece);
    if (verdict === undefined && question !== undefined) questions.push(question);
  }
  return { histories: toHistories(timelines, group, unsure), questions, unsure: [...unsure] };
}

/**
 * Of the two timelines' ends the lower one must stand in the other timeline: then all of it does. (That the full
 * which looked strange stands there would not be enough: it may have been taken right where the two part.)
 */
function questionBetween(older: Timeline, newer: Timeline): ContentQuestion | undefined {
  const [olderTop, newerTop] = [older, newer].map(topOf);
  if (olderTop === undefined || newerTop === undefined) return undefined;
  const [lower, other] = olderTop.last <= newerTop.last ? [olderTop, newer] : [newerTop, older];
  const higher = holderOf(lower.last, other);
  return higher === undefined ? undefined : { lower: lower.object, higher: higher.object };
}

function verdictOn(
  { lower, higher }: ContentQuestion,
  verdicts: ReadonlyMap<string, Verdict>,
): Verdict | undefined {
  return verdicts.get(`${lower.name.text} ${higher.name.text}`);
}

/** The end of a timeline; where several objects end there, a delta, whose end is cheap to read. */
function topOf(timeline: Timeline): UsablePiece | undefined {
  let top: UsablePiece | undefined;
  for (const piece of sure(timeline)) {
    if (top === undefined || piece.last > top.last) top = piece;
    else if (piece.last === top.last && top.name.kind === 'full' && piece.name.kind === 'delta') top = piece;
  }
  return top;
}

/** Where a revision can be looked up: in a small delta rather than a large one, in a full only if there is none. */
function holderOf(revision: bigint, timeline: Timeline): UsablePiece | undefined {
  let holder: UsablePiece | undefined;
  for (const piece of sure(timeline)) {
    const { kind, start } = piece.name;
    if (piece.last < revision || (kind === 'delta' && start > revision)) continue;
    if (holder === undefined || isCheaper(piece, holder)) holder = piece;
  }
  return holder;
}

function isCheaper(a: UsablePiece, b: UsablePiece): boolean {
  if (a.name.kind !== b.name.kind) return a.name.kind === 'delta';
  return a.object.bytes < b.object.bytes;
}

function* sure(timeline: Timeline): Generator<UsablePiece> {
  for (const piece of timeline.pieces) if (isUsable(piece)) yield piece;
}

function merge(group: Map<Timeline, Timeline[]>, a: Timeline, b: Timeline): void {
  const [into, from] = [group.get(a) ?? [a], group.get(b) ?? [b]];
  if (into === from) return;
  into.push(...from);
  for (const timeline of from) group.set(timeline, into);
}

function toHistories(
  timelines: readonly Timeline[],
  group: ReadonlyMap<Timeline, Timeline[]>,
  unsure: ReadonlySet<Piece>,
): History[] {
  const groups = new Set(group.values());
  const restoredInto = new Set<Timeline[] | undefined>();
  for (const timeline of timelines) {
    if (timeline.begins !== 'restore' || timeline.parent === undefined) continue;
    const parent = group.get(timeline.parent);
    if (parent !== group.get(timeline)) restoredInto.add(parent);
  }
  return [...groups].map((members) => ({
    timelines: members,
    pieces: collect(members, group, unsure),
    isLeaf: !restoredInto.has(members),
  }));
}

/** Goes up through declared restores; each one bounds all that is above it. */
function collect(
  members: Timeline[],
  group: ReadonlyMap<Timeline, Timeline[]>,
  unsure: ReadonlySet<Piece>,
): BranchPiece[] {
  const pieces: BranchPiece[] = [];
  const visited = new Set<Timeline[]>();
  let at: Timeline[] | undefined = members;
  let upTo: bigint | undefined;
  while (at !== undefined && !visited.has(at)) {
    visited.add(at);
    for (const piece of at.flatMap((timeline) => [...sure(timeline)])) {
      if (!unsure.has(piece)) pieces.push({ piece, upTo });
    }
    const restore: Timeline | undefined = at.find(({ begins, parent }) => begins === 'restore' && parent);
    if (restore?.sharedUpTo !== undefined) upTo = lower(restore.sharedUpTo, upTo ?? restore.sharedUpTo);
    at = restore?.parent === undefined ? undefined : group.get(restore.parent);
  }
  return pieces;
}
