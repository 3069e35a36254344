/** Every revision at which a restore can end: each full with the deltas that continue it, of every branch that is left. */
import { settleTimelines } from './branch.js';
import { deltaParts } from './candidate.js';
import { Cover } from './cover.js';
import { collectPieces } from './piece.js';
import type { PlanInput, RevisionRange } from './plan.js';
import { compareRevisions, higher } from './revision.js';
import { splitTimelines } from './timeline.js';

/** Ascending, apart from each other. Where two branches hold the same revision, it is named once. */
export function restorableRanges(input: PlanInput): RevisionRange[] {
  const { histories } = settleTimelines(splitTimelines(collectPieces(input, [])), input.answers ?? []);
  const ranges: RevisionRange[] = [];
  for (const { pieces } of histories.filter(({ isLeaf }) => isLeaf)) {
    const cover = new Cover(deltaParts(pieces));
    for (const { piece, upTo } of pieces) {
      if (piece.name.kind !== 'full' || (upTo !== undefined && piece.last > upTo)) continue;
      ranges.push({ from: piece.last, to: cover.reach(piece.last) });
    }
  }
  return join(ranges.sort((a, b) => compareRevisions(a.from, b.from)));
}

function join(ranges: readonly RevisionRange[]): RevisionRange[] {
  const joined: { from: bigint; to: bigint }[] = [];
  for (const { from, to } of ranges) {
    const last = joined.at(-1);
    if (last === undefined || from > last.to + 1n) joined.push({ from, to });
    else last.to = higher(last.to, to);
  }
  return joined;
}
