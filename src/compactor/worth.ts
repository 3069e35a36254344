/** Whether a merge is worth its bytes, and what it needs. */
import type { CompactConfig } from '../config/compact.js';
import type { Choice } from '../restorer/choose.js';
import { secondsFor } from '../restorer/dry-run.js';
import { type SpaceNeed, spaceNeed } from '../restorer/space.js';
import type { Plan } from '../snapshot/plan.js';

type Wish = Pick<CompactConfig, 'keepHistory' | 'minDeltaBytes' | 'minRestoreMs' | 'maxInflightBytes'>;

/** In words; undefined when there is something to do. */
export function reasonNotTo({ plan, base }: Choice, wish: Wish): string | undefined {
  const { compactRevision } = base.info;
  if (plan.deltas.length === 0 && (wish.keepHistory || compactRevision >= plan.revision)) {
    const compacted = wish.keepHistory ? '' : `, compacted at revision ${compactRevision}`;
    return `${base.object.name.text} has no deltas behind it${compacted}`;
  }
  return notWorthIt(plan, wish);
}

/** The bounds that were given, of which one reached is enough. */
export function notWorthIt(plan: Plan, wish: Wish): string | undefined {
  const { minDeltaBytes, minRestoreMs } = wish;
  if (minDeltaBytes === undefined && minRestoreMs === undefined) return undefined;
  const deltaBytes = deltaBytesOf(plan);
  const seconds = secondsToRestore(plan, wish);
  if (minDeltaBytes !== undefined && deltaBytes >= minDeltaBytes) return undefined;
  if (minRestoreMs !== undefined && seconds * 1000 >= minRestoreMs) return undefined;
  return `${plan.deltas.length} deltas of ${deltaBytes} bytes, restored in about ${seconds} s, are below --min-delta-bytes and --min-restore-time`;
}

export function secondsToRestore(plan: Plan, { maxInflightBytes }: Wish): number {
  return secondsFor(plan, { maxInflightBytes, applier: 'native', pack: false, compact: false });
}

/** The base, its deltas, what they become, and that packed. */
export function needOf(plan: Plan, { keepHistory, maxInflightBytes }: Wish): SpaceNeed {
  const rewriting = {
    maxInflightBytes,
    applier: 'native',
    pack: keepHistory,
    compact: !keepHistory,
  } as const;
  const need = spaceNeed(plan, rewriting);
  return { leastBytes: need.leastBytes, likelyBytes: need.likelyBytes + plan.base.bytes };
}

export function deltaBytesOf({ deltas }: Plan): number {
  return deltas.reduce((sum, { object }) => sum + object.bytes, 0);
}
