/** How a run begins: go on with deltas where the store's chain ends, or begin a new set with a full. Pure. */
import { formatDuration } from '../base/duration.js';
import type { HistoryVerdict } from './history.js';

export interface StartSituation {
  readonly nowMs: number;
  /** Of the newest full in the store; undefined when there is none. */
  readonly full: { readonly createdSecs: number; readonly final: boolean } | undefined;
  /** Last revision that the chain behind that full holds. */
  readonly tipRevision: bigint;
  /** First revision that is in no object although later ones are. */
  readonly missing: bigint | undefined;
  /** Whether etcd still has the history that the chain ends with. */
  readonly history: HistoryVerdict;
  readonly etcdRevision: bigint;
  readonly maxCatchUpRevisions: number;
  readonly maxFullAgeMs: number;
  readonly deltasOff: boolean;
  /** Only what the Go tool can restore may be written, and the chain holds what it cannot. */
  readonly unreadableForGoTool: boolean;
}

export type StartDecision = {
  readonly start: 'continue' | 'full';
  /** In words, for the log. */
  readonly reason: string;
};

/** Until fulls have schedules of their own: a base older than this makes restores long. */
export const MAX_FULL_AGE_MS = 24 * 60 * 60 * 1000;

export function decideStart(situation: StartSituation): StartDecision {
  const reason = reasonForFull(situation);
  if (reason !== undefined) return { start: 'full', reason };
  const { tipRevision, etcdRevision } = situation;
  const behind = etcdRevision - tipRevision;
  return {
    start: 'continue',
    reason: `the store ends at revision ${tipRevision}, etcd is ${behind} ahead and has the same history`,
  };
}

function reasonForFull(situation: StartSituation): string | undefined {
  const { full, missing, history, tipRevision, etcdRevision, nowMs } = situation;
  if (full === undefined) return 'the store holds no full snapshot';
  if (situation.deltasOff) return 'deltas are off';
  if (full.final) return 'the newest full is a final one';
  if (missing !== undefined) return `revisions from ${missing} on are in no object, though later ones are`;
  if (situation.unreadableForGoTool)
    return 'the newest set holds objects that the Go tool cannot restore, and --compat gardener is on';
  const ageMs = nowMs - full.createdSecs * 1000;
  if (ageMs > situation.maxFullAgeMs)
    return `the newest full is ${formatDuration(Math.round(ageMs / 1000) * 1000)} old`;
  if (history.history !== 'same') return history.why;
  const behind = etcdRevision - tipRevision;
  if (behind > BigInt(situation.maxCatchUpRevisions))
    return `etcd is ${behind} revisions ahead of the store, more than --max-catch-up-revisions ${situation.maxCatchUpRevisions}`;
  return undefined;
}
