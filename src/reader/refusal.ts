/** What a look says when what was asked cannot be read: the reason, and what can be had instead. */
import { isoTime } from '../base/iso-time.js';
import { BackupError, isDamaged } from '../errors.js';
import type { Stand } from '../snapshot/at-time.js';
import type { Branch, Plan, PlanResult } from '../snapshot/plan.js';
import { rangesText } from '../snapshot/ranges-text.js';

export function gapError(
  op: string,
  { missing, wanted, best }: Extract<PlanResult, { kind: 'gap' }>,
): BackupError {
  return new BackupError(
    'REVISION_GAP',
    `revisions ${rangesText(missing)} are in no usable object, so revision ${wanted} cannot be read`,
    { op, hint: `the newest state that can be read: --at-revision ${best.revision}` },
  );
}

export function forkError(op: string, branches: readonly Branch[]): BackupError {
  const lines = branches.map(
    ({ first, lowestRevision, highestRevision, isNewest, isHighest }) =>
      `  from ${first}: revisions ${lowestRevision}-${highestRevision}` +
      `${isNewest ? ', newest' : ''}${isHighest ? ', highest' : ''}`,
  );
  const what = `the store holds ${branches.length} histories that were not joined by a restore`;
  const hint = [...lines, 'Choose one with --timeline newest or --timeline highest'].join('\n');
  return new BackupError('FORK', what, { op, object: branches[0]?.first ?? '', hint });
}

export function nothingError(op: string, reason: string, nearest: Plan | undefined): BackupError {
  const hint =
    nearest === undefined
      ? undefined
      : `the lowest state that can be read: --at-revision ${nearest.revision}`;
  return new BackupError('NOTHING_TO_RESTORE', reason, { op, ...(hint === undefined ? {} : { hint }) });
}

export function tooEarlyError(op: string, timeMs: number, earliest: Stand | undefined): BackupError {
  const hint =
    earliest === undefined
      ? undefined
      : `the earliest is revision ${earliest.revision}, of ${isoTime(earliest.atMs)}`;
  const what = `nothing in the store is from ${isoTime(timeMs)} or before`;
  return new BackupError('NOTHING_TO_RESTORE', what, { op, ...(hint === undefined ? {} : { hint }) });
}

/** Names the way around a damaged object. */
export function withWayAround(error: unknown, object: string): unknown {
  if (!isDamaged(error) || error.hint !== undefined) return error;
  return new BackupError(error.code, error.message, {
    hint: `another way, if there is one: --exclude ${object}`,
    cause: error,
  });
}
