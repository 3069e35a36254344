import { BackupError } from '../errors.js';

/** The one way in which a store says that its caller has given up. */
export function cancelled(op: string, object: string, signal: AbortSignal): BackupError {
  return new BackupError('CANCELLED', 'cancelled', { op, object, cause: signal.reason });
}

export function throwIfCancelled(op: string, object: string, signal: AbortSignal | undefined): void {
  if (signal?.aborted === true) throw cancelled(op, object, signal);
}
