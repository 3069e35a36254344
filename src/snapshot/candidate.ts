/** Plans within one history: which full to begin with, and how far its deltas reach. */
import type { BranchPiece } from './branch.js';
import { Cover, type DeltaPart } from './cover.js';
import { isMeant } from './name.js';
import type { UsablePiece } from './piece.js';
import type { Plan, RevisionRange } from './plan.js';
import { compareRevisions, higher, lower } from './revision.js';

/** How many lower states are offered when the wanted one cannot be had. */
const MAX_NEXT_BEST = 3;

export interface Wish {
  readonly targetRevision?: bigint | undefined;
  /** As typed. */
  readonly base?: string | undefined;
}

export interface Outcome {
  readonly best: Plan;
  /** The revision asked for, else the highest that any usable object of the history holds. */
  readonly wanted: bigint;
  readonly missing: readonly RevisionRange[];
  readonly nextBest: readonly Plan[];
}

interface Start {
  readonly piece: UsablePiece;
  readonly reach: bigint;
}

/** Undefined when there is no full to begin with. */
export function planHistory(pieces: readonly BranchPiece[], wish: Wish): Outcome | undefined {
  const target = wish.targetRevision;
  const cover = new Cover(deltaParts(pieces));
  const starts = findStarts(pieces, cover, wish).sort(byReach);
  const [first] = starts;
  if (first === undefined) return undefined;
  const wanted = target ?? highestRevision(pieces);
  return {
    best: toPlan(first, cover),
    wanted,
    missing: first.reach < wanted ? cover.missing(first.reach, wanted) : [],
    nextBest: first.reach < wanted ? lowerStates(starts).map((start) => toPlan(start, cover)) : [],
  };
}

/** What could be had instead, when every full is above the target: the lowest one alone. */
export function lowestState(pieces: readonly BranchPiece[]): Plan | undefined {
  const starts = findStarts(pieces, new Cover([]), {});
  const lowest = starts.reduce<Start | undefined>(
    (low, start) => (low === undefined || start.reach < low.reach ? start : low),
    undefined,
  );
  return lowest === undefined ? undefined : toPlan(lowest, new Cover([]));
}

export function deltaParts(pieces: readonly BranchPiece[]): DeltaPart[] {
  const parts: DeltaPart[] = [];
  for (const { piece, upTo } of pieces) {
    const { kind, start } = piece.name;
    if (kind !== 'delta' || (upTo !== undefined && start > upTo)) continue;
    parts.push({ piece, start, last: lower(piece.last, upTo ?? piece.last) });
  }
  return parts;
}

function findStarts(pieces: readonly BranchPiece[], cover: Cover, wish: Wish): Start[] {
  const target = wish.targetRevision;
  const starts: Start[] = [];
  for (const { piece, upTo } of pieces) {
    if (piece.name.kind !== 'full') continue;
    if (wish.base !== undefined && !isMeant(wish.base, piece.name.text)) continue;
    if ((upTo !== undefined && piece.last > upTo) || (target !== undefined && piece.last > target)) continue;
    const reach = cover.reach(piece.last);
    starts.push({ piece, reach: lower(reach, target ?? reach) });
  }
  return starts;
}

/** The farthest reach first, then the highest full: the fewest revisions to replay. */
function byReach(a: Start, b: Start): number {
  if (a.reach !== b.reach) return compareRevisions(b.reach, a.reach);
  if (a.piece.last !== b.piece.last) return compareRevisions(b.piece.last, a.piece.last);
  if (a.piece.lastKnown !== b.piece.lastKnown) return a.piece.lastKnown ? -1 : 1;
  if (a.piece.name.createdSecs !== b.piece.name.createdSecs) {
    return b.piece.name.createdSecs - a.piece.name.createdSecs;
  }
  return a.piece.name.text < b.piece.name.text ? -1 : 1;
}

/** `starts` by falling reach: one for each lower state. */
function lowerStates(starts: readonly Start[]): Start[] {
  const lower: Start[] = [];
  let reach = starts[0]?.reach;
  for (const start of starts) {
    if (lower.length === MAX_NEXT_BEST) break;
    if (start.reach === reach) continue;
    reach = start.reach;
    lower.push(start);
  }
  return lower;
}

function highestRevision(pieces: readonly BranchPiece[]): bigint {
  let highest = 0n;
  for (const { piece, upTo } of pieces) {
    const { kind, start } = piece.name;
    const lowest = kind === 'full' ? piece.last : start;
    if (upTo !== undefined && lowest > upTo) continue;
    highest = higher(highest, lower(piece.last, upTo ?? piece.last));
  }
  return highest;
}

function toPlan({ piece, reach }: Start, cover: Cover): Plan {
  const deltas = cover.path(piece.object, piece.last, reach);
  return {
    base: piece.object,
    baseRevision: piece.last,
    baseRevisionKnown: piece.lastKnown,
    deltas,
    revision: reach,
    bytes: deltas.reduce((sum, { object }) => sum + object.bytes, piece.object.bytes),
  };
}
