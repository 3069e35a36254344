/** What is read of which object: the parts of a question, in the order in which they are read. */
import type { LookPart } from '../native/index.js';
import type { Plan, StoredSnapshot } from '../snapshot/plan.js';

/** No change is below it: nothing is passed over. */
export const EVERYTHING = -1n;

export interface Part {
  readonly object: StoredSnapshot;
  readonly side: LookPart['side'];
  /** Changes up to here are passed over: older objects have them. */
  readonly after: bigint;
  /** A delta has to hold these. */
  readonly through: bigint;
}

/** Newest first, so that the newest state of one key is found early. */
export function partsOfPlan(plan: Plan, side: LookPart['side']): Part[] {
  const deltas = plan.deltas.map(({ object, from, to }) => ({ object, side, after: from - 1n, through: to }));
  return [...deltas.reverse(), { object: plan.base, side, after: EVERYTHING, through: plan.baseRevision }];
}

/** Oldest first. An object that adds nothing to those before it is left out. */
export function partsOfHistory(segments: readonly Plan[]): Part[] {
  const parts: Part[] = [];
  let reached = EVERYTHING;
  for (const { base, baseRevision, deltas, revision } of segments) {
    if (baseRevision > reached)
      parts.push({ object: base, side: 'to', after: reached, through: baseRevision });
    for (const { object, from, to } of deltas) {
      if (to > reached)
        parts.push({ object, side: 'to', after: from - 1n > reached ? from - 1n : reached, through: to });
    }
    reached = revision > reached ? revision : reached;
  }
  return parts;
}
