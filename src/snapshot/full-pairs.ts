/**
 * Fulls that follow each other in one timeline, and the deltas that lead from one to the next: two accounts of the same
 * revisions, which can be held against each other.
 */
import { settleTimelines } from './branch.js';
import { deltaParts } from './candidate.js';
import { Cover } from './cover.js';
import { collectPieces, type UsablePiece } from './piece.js';
import type { PlanInput, PlannedDelta, RevisionRange, StoredSnapshot } from './plan.js';
import { compareRevisions } from './revision.js';
import { splitTimelines } from './timeline.js';

export interface FullPair {
  readonly base: StoredSnapshot;
  readonly later: StoredSnapshot;
}

/** `missing`: in no delta that can be used; the two cannot be compared. */
export type Between =
  | { readonly deltas: readonly PlannedDelta[] }
  | { readonly missing: readonly RevisionRange[] };

export class FullPairs {
  readonly pairs: readonly FullPair[];
  readonly #covers = new Map<string, Cover>();

  /** What a declared restore left behind is compared within its own timeline only. */
  constructor(input: PlanInput) {
    const { histories } = settleTimelines(splitTimelines(collectPieces(input, [])), input.answers ?? []);
    const pairs: FullPair[] = [];
    for (const history of histories) {
      const own = history.pieces.filter(({ upTo }) => upTo === undefined);
      const cover = new Cover(deltaParts(own));
      const fulls = own.map(({ piece }) => piece).filter(({ name }) => name.kind === 'full');
      let base: UsablePiece | undefined;
      for (const later of fulls.sort(byRevision)) {
        if (base !== undefined) {
          pairs.push({ base: base.object, later: later.object });
          this.#covers.set(keyOf(base.object, later.object), cover);
        }
        base = later;
      }
    }
    this.pairs = pairs;
  }

  /** From and to their true revisions. */
  between({ base, later }: FullPair, from: bigint, to: bigint): Between {
    const cover = this.#covers.get(keyOf(base, later)) ?? new Cover([]);
    if (cover.reach(from) < to) return { missing: cover.missing(from, to) };
    return { deltas: cover.path(base, from, to) };
  }
}

function keyOf(base: StoredSnapshot, later: StoredSnapshot): string {
  return `${base.name.text} ${later.name.text}`;
}

function byRevision(a: UsablePiece, b: UsablePiece): number {
  return compareRevisions(a.last, b.last) || a.name.createdSecs - b.name.createdSecs;
}
