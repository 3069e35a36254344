/**
 * Which revision a history had reached at a time. Deltas know it of each event; a full only of when it was taken. Events
 * count in the order of their revisions, and the first that arrived later ends what had, so that a clock that was set
 * back never gives a later event without an earlier one. Nothing is read here: which delta has to be asked is told.
 */
import type { BranchPiece } from './branch.js';
import { deltaParts } from './candidate.js';
import { chooseHistory } from './chain.js';
import type { DeltaPart } from './cover.js';
import type { Piece } from './piece.js';
import type { PlanInput, PlanResult, StoredSnapshot } from './plan.js';
import { compareRevisions, lower } from './revision.js';

/** What a delta that was asked answered: `native.deltaMoment`. */
export interface DeltaAnswer {
  readonly firstRevision: bigint;
  readonly reachedRevision: bigint | null;
  readonly reachedMs: number | null;
  /** Null when all of it had arrived. */
  readonly nextMs: number | null;
  readonly setBackMs: number;
}

export interface Stand {
  readonly revision: bigint;
  readonly atMs: number;
  /** "event": when the last event of the revision, or the first of it, arrived. "object": when an object was made that holds it. */
  readonly by: 'event' | 'object';
}

export interface Moment {
  readonly timeMs: number;
  readonly reached: Stand;
  /** The first that is known to be later; undefined when the store holds nothing later. */
  readonly next: Stand | undefined;
  /** Between the two, at times that nothing in the store tells; undefined when the answer is exact. */
  readonly unknown: { readonly from: bigint; readonly to: bigint } | undefined;
  /** The farthest that the clock was set back between the events that were looked at. */
  readonly setBackMs: number;
}

export type TimePlan =
  | { readonly kind: 'moment'; readonly moment: Moment }
  | { readonly kind: 'needs-delta'; readonly object: StoredSnapshot }
  /** Its name alone says which revision it holds. */
  | { readonly kind: 'needs-base-revision'; readonly object: StoredSnapshot }
  | { readonly kind: 'too-early'; readonly earliest: Stand | undefined }
  /** Nothing to restore, or a history that must be chosen first. */
  | { readonly kind: 'undecided'; readonly result: PlanResult };

export function planTime(
  input: PlanInput,
  timeMs: number,
  answers: ReadonlyMap<string, DeltaAnswer>,
): TimePlan {
  const chosen = chooseHistory(input);
  if ('kind' in chosen) return { kind: 'undecided', result: chosen };
  const walk = walkDeltas(chosen.pieces, timeMs, answers);
  if (walk.ask !== undefined) return { kind: 'needs-delta', object: walk.ask };
  const fulls = fullsOf(chosen.pieces);
  const full = lastFull(fulls, timeMs, walk);
  if (full !== undefined && !full.piece.lastKnown)
    return { kind: 'needs-base-revision', object: full.piece.object };
  const reached = full?.stand ?? walk.reached;
  const next = firstLater(fulls, timeMs, reached, walk.next);
  if (reached === undefined) return { kind: 'too-early', earliest: next };
  const unknown = unknownBetween(reached, next);
  return { kind: 'moment', moment: { timeMs, reached, next, unknown, setBackMs: walk.setBackMs } };
}

interface Walk {
  readonly ask?: StoredSnapshot;
  readonly reached: Stand | undefined;
  readonly next: Stand | undefined;
  readonly setBackMs: number;
}

/** In the order of their ends: those that ended before the time are not asked, and none after the first late event. */
function walkDeltas(
  pieces: readonly BranchPiece[],
  timeMs: number,
  answers: ReadonlyMap<string, DeltaAnswer>,
): Walk {
  let reached: Stand | undefined;
  let setBackMs = 0;
  for (const part of deltaParts(pieces).sort(byEnd)) {
    const end = endOf(part);
    if (end.atMs < timeMs) {
      reached = farther(reached, end);
      continue;
    }
    const { object, name } = part.piece;
    const answer = answers.get(name.text);
    if (answer === undefined) return { ask: object, reached, next: undefined, setBackMs };
    setBackMs = Math.max(setBackMs, answer.setBackMs);
    const { reachedRevision, reachedMs, nextMs } = answer;
    if (reachedRevision !== null && reachedMs !== null)
      reached = farther(reached, {
        revision: lower(reachedRevision, part.last),
        atMs: reachedMs,
        by: 'event',
      });
    const late = (reachedRevision ?? answer.firstRevision - 1n) + 1n;
    if (nextMs !== null && late <= part.last)
      return { reached, next: { revision: late, atMs: nextMs, by: 'event' }, setBackMs };
  }
  return { reached, next: undefined, setBackMs };
}

function byEnd(a: DeltaPart, b: DeltaPart): number {
  return compareRevisions(a.last, b.last) || a.piece.name.createdSecs - b.piece.name.createdSecs;
}

/** Our manifest states the arrival of the last event; a name, in whole seconds, when the delta was cut. */
function endOf({ piece, last }: DeltaPart): Stand {
  const endedAtMs = piece.object.manifest?.endedAtMs;
  if (endedAtMs !== undefined) return { revision: last, atMs: endedAtMs, by: 'event' };
  return { revision: last, atMs: endOfSecond(piece), by: 'object' };
}

/** The latest time that the content of a full can be of. */
function takenAtMs({ ours, object, name }: Piece): number {
  return (ours ? object?.manifest?.openedAtMs : undefined) ?? endOfSecond({ name });
}

function endOfSecond({ name }: Pick<Piece, 'name'>): number {
  return name.createdSecs * 1000 + 999;
}

function farther(a: Stand | undefined, b: Stand): Stand {
  return a === undefined || b.revision > a.revision ? b : a;
}

function fullsOf(pieces: readonly BranchPiece[]) {
  return pieces
    .filter(({ piece, upTo }) => piece.name.kind === 'full' && (upTo === undefined || piece.last <= upTo))
    .map(({ piece }) => ({
      piece,
      stand: { revision: piece.last, atMs: takenAtMs(piece), by: 'object' } as Stand,
    }));
}

/** The full that was there at the time and holds more than the deltas had reached, which say it better. */
function lastFull(fulls: ReturnType<typeof fullsOf>, timeMs: number, { reached, next }: Walk) {
  return fulls
    .filter(({ stand }) => stand.atMs <= timeMs)
    .filter(({ stand }) => next === undefined || stand.revision < next.revision)
    .filter(({ stand }) => reached === undefined || stand.revision > reached.revision)
    .reduce<(typeof fulls)[number] | undefined>(
      (found, full) => (found === undefined || full.stand.revision > found.stand.revision ? full : found),
      undefined,
    );
}

/** Of the next event, and the fulls that were taken later, the lowest above what was reached. */
function firstLater(
  fulls: ReturnType<typeof fullsOf>,
  timeMs: number,
  reached: Stand | undefined,
  next: Stand | undefined,
): Stand | undefined {
  return fulls
    .map(({ stand }) => stand)
    .filter(({ atMs, revision }) => atMs > timeMs && (reached === undefined || revision > reached.revision))
    .reduce((found, stand) => (found === undefined || stand.revision < found.revision ? stand : found), next);
}

/** Up to the first late event, which is later beyond doubt; of a full, its own revision may be from before, too. */
function unknownBetween(reached: Stand, next: Stand | undefined): Moment['unknown'] {
  if (next === undefined) return undefined;
  const to = next.by === 'event' ? next.revision - 1n : next.revision;
  return to > reached.revision ? { from: reached.revision + 1n, to } : undefined;
}
