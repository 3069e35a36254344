/** Doing something until it is done: with growing waits, told of each failure, ended only by abort or a final error. */
import { sleep } from '../base/abort.js';
import { Backoff } from '../base/backoff.js';
import { BackupError, isBackupError } from '../errors.js';

/** Runs a job as often as is wanted. */
export type Persistence = <T>(job: () => Promise<T>, signal: AbortSignal | undefined) => Promise<T>;

/** For a command that is to say what went wrong, now. */
export const once: Persistence = (job) => job();

export const RETRY_BACKOFF = { firstMs: 1_000, factor: 2, maxMs: 60_000, jitter: 0.5 };

export interface PersistOptions {
  readonly onFailure: (error: BackupError, retryMs: number) => void;
  readonly isFinal?: (error: BackupError) => boolean;
}

/** For an agent: a store that is full, unreachable or locked away is waited for (B10). */
export function persistently({ onFailure, isFinal = isHopeless }: PersistOptions): Persistence {
  return async (job, signal) => {
    const backoff = new Backoff(RETRY_BACKOFF);
    for (;;) {
      try {
        signal?.throwIfAborted();
        return await job();
      } catch (error) {
        if (signal?.aborted === true) throw interrupted(signal);
        if (!isBackupError(error) || isFinal(error)) throw error;
        const retryMs = backoff.next();
        onFailure(error, retryMs);
        await sleep(retryMs, { signal });
      }
    }
  };
}

/** What a later try cannot change: the bytes on our side are wrong, or this program is. */
export function isHopeless(error: BackupError): boolean {
  return HOPELESS.has(error.code);
}

const HOPELESS: ReadonlySet<string> = new Set<BackupError['code']>([
  ...(['CORRUPT', 'TRUNCATED', 'CHECKSUM', 'NOT_SORTED', 'REVISION_GAP', 'FORK', 'MISMATCH'] as const),
  ...(['EXISTS', 'UNSUPPORTED', 'USAGE', 'COMPACTED', 'CANCELLED', 'INTERNAL', 'STALE'] as const),
]);

export function interrupted(signal: AbortSignal): BackupError {
  const { reason } = signal as { reason: unknown };
  if (reason instanceof BackupError) return reason;
  return new BackupError('CANCELLED', 'interrupted', { op: 'snapshot', cause: reason });
}
