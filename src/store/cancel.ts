import { BackupError, isBackupError } from '../errors.js';

/**
 * What an operation ends with once its signal is aborted. Who aborts with a `BackupError` (a timeout, a lost
 * leadership) gets that one back; any other reason becomes the cause of a CANCELLED.
 */
export function cancelled(op: string, object: string, signal: AbortSignal): BackupError {
  const reason: unknown = signal.reason;
  return isBackupError(reason)
    ? reason
    : new BackupError('CANCELLED', 'cancelled', { op, object, cause: reason });
}

export function throwIfCancelled(op: string, object: string, signal: AbortSignal | undefined): void {
  if (signal?.aborted === true) throw cancelled(op, object, signal);
}
