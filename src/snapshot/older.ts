/**
 * What a store holds of one history before the base of a plan: every change, as far as the objects have it. Oldest first,
 * the plan itself last; each segment begins with a full and goes on as far as the next one needs, or as far as it can.
 */
import { type BranchPiece, settleTimelines } from './branch.js';
import { planHistory } from './candidate.js';
import { collectPieces } from './piece.js';
import type { Plan, PlanInput } from './plan.js';
import { compareRevisions } from './revision.js';
import { splitTimelines } from './timeline.js';

/** Each segment costs reading a full; a set with more holes than this is read from the newest of them on. */
const MAX_SEGMENTS = 16;

export function olderSegments(input: PlanInput, plan: Plan): Plan[] {
  const pieces = historyOf(input, plan);
  const segments = [plan];
  while (segments.length < MAX_SEGMENTS) {
    const first = segments[0] as Plan;
    const before = pieces === undefined ? undefined : segmentBefore(pieces, first);
    if (before === undefined) break;
    segments.unshift(before);
  }
  return segments;
}

/** The pieces of the one history that ends as the plan does; undefined when it cannot be told from another. */
function historyOf(input: PlanInput, { base, deltas }: Plan): readonly BranchPiece[] | undefined {
  const used = [base, ...deltas.map(({ object }) => object)].map(({ name }) => name.text);
  const { histories } = settleTimelines(splitTimelines(collectPieces(input, [])), input.answers ?? []);
  const holding = histories.filter(({ isLeaf, pieces }) => {
    const names = new Set(pieces.map(({ piece }) => piece.name.text));
    return isLeaf && used.every((name) => names.has(name));
  });
  return holding.length === 1 ? holding[0]?.pieces : undefined;
}

/** The oldest full from which deltas lead to the base of `next`; where none does, the one that comes closest. */
function segmentBefore(pieces: readonly BranchPiece[], next: Plan): Plan | undefined {
  const fulls = pieces
    .filter(({ piece, upTo }) => piece.name.kind === 'full' && (upTo === undefined || piece.last <= upTo))
    .filter(({ piece }) => piece.last < next.baseRevision)
    .sort((a, b) => compareRevisions(a.piece.last, b.piece.last));
  let closest: Plan | undefined;
  for (const { piece } of fulls) {
    const wish = { base: piece.name.text, targetRevision: next.baseRevision };
    const plan = planHistory(pieces, wish)?.best;
    if (plan === undefined || (closest !== undefined && plan.revision <= closest.revision)) continue;
    closest = plan;
    if (plan.revision >= next.baseRevision) break;
  }
  return closest;
}
