/**
 * Joins timelines that content has shown to be one, and follows declared restores: what remains are the branches,
 * each a history of its own with all the objects that belong to it.
 */
import { isUsable, type Piece, type UsablePiece } from './piece.js';
import type { ContentAnswer, ContentQuestion, Verdict } from './plan.js';
import { questionsBetween } from './question.js';
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
  readonly unsure: ReadonlySet<Piece>;
}

export function settleTimelines(timelines: readonly Timeline[], answers: readonly ContentAnswer[]): Settled {
  const verdicts = new Map(answers.map((answer) => [`${answer.lower} ${answer.higher}`, answer.verdict]));
  const group = new Map<Timeline, Timeline[]>(timelines.map((timeline) => [timeline, [timeline]]));
  const questions: ContentQuestion[] = [];
  const unsure = new Set<Piece>();
  for (const timeline of timelines) {
    if (timeline.begins !== 'undeclared' || timeline.parent === undefined) continue;
    // With all that the parent was found to be one with: two timelines may both be one with the short beginning that
    // they have in common, and not with each other.
    const before = group.get(timeline.parent) ?? [timeline.parent];
    const { areOne, open } = compare(before, timeline, verdicts);
    questions.push(...open);
    if (areOne) merge(group, timeline.parent, timeline);
    else addUnsure(unsure, timeline.parent, timeline.unsure);
  }
  return { histories: toHistories(timelines, group, unsure), questions, unsure };
}

/** With what continues them, by its own account. */
function addUnsure(unsure: Set<Piece>, parent: Timeline, pieces: readonly Piece[]): void {
  const names = new Set(pieces.map(({ name }) => name.text));
  for (const piece of parent.pieces) {
    if (!names.has(piece.name.text) && !names.has(piece.object?.manifest?.previous?.name ?? '')) continue;
    names.add(piece.name.text);
    unsure.add(piece);
  }
}

interface Comparison {
  readonly areOne: boolean;
  /** Still to be answered, while no answer has shown that there are two. */
  readonly open: readonly ContentQuestion[];
}

function compare(
  before: readonly Timeline[],
  timeline: Timeline,
  verdicts: ReadonlyMap<string, Verdict>,
): Comparison {
  const pieces = before.flatMap((one) => one.pieces);
  const questions = timeline.settled ? undefined : questionsBetween(pieces, timeline.pieces);
  if (questions === undefined) return { areOne: false, open: [] };
  const answered = questions.map(({ lower, higher }) =>
    verdicts.get(`${lower.name.text} ${higher.name.text}`),
  );
  if (answered.some((verdict) => verdict === 'differs' || verdict === 'unknown'))
    return { areOne: false, open: [] };
  const open = questions.filter((_, index) => answered[index] === undefined);
  return { areOne: open.length === 0, open };
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
    for (const piece of at.flatMap((timeline) => timeline.pieces.filter(isUsable))) {
      if (!unsure.has(piece)) pieces.push({ piece, upTo });
    }
    const restore: Timeline | undefined = at.find(({ begins, parent }) => begins === 'restore' && parent);
    if (restore?.sharedUpTo !== undefined) upTo = lower(restore.sharedUpTo, upTo ?? restore.sharedUpTo);
    at = restore?.parent === undefined ? undefined : group.get(restore.parent);
  }
  return pieces;
}
