/**
 * Covers a range of revisions with the deltas of one history. A delta may follow a position when it starts at most
 * one above it and ends above it; what it holds up to the position is passed over (hazards 1 and 3).
 */
import type { UsablePiece } from './piece.js';
import type { PlannedDelta, RevisionRange, StoredSnapshot } from './plan.js';
import { compareRevisions, lower } from './revision.js';

/** A delta of which only the part up to `last` belongs to the history. */
export interface DeltaPart {
  readonly piece: UsablePiece;
  readonly start: bigint;
  readonly last: bigint;
}

/** How many deltas that start before a range are looked at for one that holds it too. */
const MAX_ALTERNATIVE_SCAN = 64;
const MAX_ALTERNATIVES = 8;

export class Cover {
  /** By start. */
  readonly #parts: readonly DeltaPart[];
  /** For each part: the one with the highest last among it and those before. */
  readonly #farthest: readonly DeltaPart[];
  /** What the parts cover together: ascending, apart from each other. */
  readonly #islands: readonly RevisionRange[];

  constructor(parts: readonly DeltaPart[]) {
    this.#parts = parts.toSorted((a, b) => compareRevisions(a.start, b.start));
    this.#farthest = runningFarthest(this.#parts);
    this.#islands = joinRanges(this.#parts);
  }

  /** The highest revision that can be reached from `position` without a hole. */
  reach(position: bigint): bigint {
    const island = this.#islandWith(position + 1n);
    return island === undefined ? position : island.to;
  }

  /** What no delta holds between `position` and `end`, both included. */
  missing(position: bigint, end: bigint): RevisionRange[] {
    const holes: RevisionRange[] = [];
    let next = position + 1n;
    for (const island of this.#islands) {
      if (island.to < next) continue;
      if (island.from > end) break;
      if (island.from > next) holes.push({ from: next, to: island.from - 1n });
      next = island.to + 1n;
    }
    if (next <= end) holes.push({ from: next, to: end });
    return holes;
  }

  /** The deltas from `position` to `end`, which must be within its reach. */
  path(base: StoredSnapshot, position: bigint, end: bigint): PlannedDelta[] {
    const path: PlannedDelta[] = [];
    let before = base;
    let at = position;
    while (at < end) {
      const part = this.#next(before, at);
      if (part === undefined || part.last <= at)
        throw new RangeError(`revision ${end} is beyond the reach of ${at}`);
      const range = { from: at + 1n, to: lower(part.last, end) };
      path.push({ object: part.piece.object, ...range, alternatives: this.#alternatives(part, range) });
      before = part.piece.object;
      at = range.to;
    }
    return path;
  }

  /** The writer's own continuation first, then one that starts exactly here, then whatever reaches farthest. */
  #next(before: StoredSnapshot, position: bigint): DeltaPart | undefined {
    const end = this.#endOfStarts(position + 1n);
    let best: DeltaPart | undefined;
    for (let at = end - 1; at >= 0; at -= 1) {
      const part = this.#parts[at];
      if (part === undefined || part.start <= position) break;
      if (part.last > position && (best === undefined || isBetter(part, best, before))) best = part;
    }
    return best ?? this.#farthest[end - 1];
  }

  #alternatives(chosen: DeltaPart, range: RevisionRange): StoredSnapshot[] {
    const found: DeltaPart[] = [];
    const end = this.#endOfStarts(range.from);
    for (let at = end - 1; at >= Math.max(0, end - MAX_ALTERNATIVE_SCAN); at -= 1) {
      const part = this.#parts[at];
      if (part !== undefined && part !== chosen && part.last >= range.to) found.push(part);
    }
    found.sort((a, b) => (isBetter(a, b, chosen.piece.object) ? -1 : 1));
    return found.slice(0, MAX_ALTERNATIVES).map((part) => part.piece.object);
  }

  /** How many parts start at `revision` or below. */
  #endOfStarts(revision: bigint): number {
    return countWhile(this.#parts.length, (at) => (this.#parts[at]?.start ?? 0n) <= revision);
  }

  #islandWith(revision: bigint): RevisionRange | undefined {
    const at =
      countWhile(this.#islands.length, (index) => (this.#islands[index]?.from ?? 0n) <= revision) - 1;
    const island = this.#islands[at];
    return island !== undefined && revision <= island.to ? island : undefined;
  }
}

function isBetter(a: DeltaPart, b: DeltaPart, before: StoredSnapshot): boolean {
  const [aContinues, bContinues] = [a, b].map(
    (part) => part.piece.object.manifest?.previous?.name === before.name.text,
  );
  if (aContinues !== bContinues) return aContinues === true;
  if (a.last !== b.last) return a.last > b.last;
  // Of two with the same range ours costs less to read and carries the leases.
  const [aNative, bNative] = [a, b].map((part) => part.piece.name.codec === 'ebd');
  if (aNative !== bNative) return aNative === true;
  return a.piece.name.createdSecs > b.piece.name.createdSecs;
}

function runningFarthest(parts: readonly DeltaPart[]): DeltaPart[] {
  let farthest: DeltaPart | undefined;
  return parts.map((part) => {
    if (farthest === undefined || part.last > farthest.last) farthest = part;
    return farthest;
  });
}

function joinRanges(parts: readonly DeltaPart[]): RevisionRange[] {
  const islands: { from: bigint; to: bigint }[] = [];
  for (const { start, last } of parts) {
    const island = islands.at(-1);
    if (island === undefined || start > island.to + 1n) islands.push({ from: start, to: last });
    else if (last > island.to) island.to = last;
  }
  return islands;
}

/** The length of the leading run of indexes that hold, by bisection. */
function countWhile(length: number, holds: (at: number) => boolean): number {
  let low = 0;
  let high = length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (holds(middle)) low = middle + 1;
    else high = middle;
  }
  return low;
}
