/**
 * A watcher that is behind reads history from the store. When the compact revision equals the revision it is about
 * to read, etcd does not end the watch, although the compaction may already have removed records of just that
 * revision (tombstones; the put of a nested put and delete). So what was read from history counts only if, afterwards,
 * the compact revision is still below it. A revision that is gone altogether shows as a hole; this finds one that
 * arrived in part.
 */
import { BackupError, isBackupError } from '../errors.js';

export class CompactionGuard {
  readonly #assertReadable: (revision: bigint) => Promise<void>;
  readonly #fail: (error: BackupError) => void;
  /** The lowest revision read from history that was not checked yet: it speaks for all above it. */
  #pending: bigint | undefined;
  #running = false;

  /** `assertReadable(R)` rejects with COMPACTED when the compact revision is above R. */
  constructor(assertReadable: (revision: bigint) => Promise<void>, fail: (error: BackupError) => void) {
    this.#assertReadable = assertReadable;
    this.#fail = fail;
  }

  /** Events from `revision` on were read from history. */
  check(revision: bigint): void {
    if (this.#pending === undefined || revision < this.#pending) this.#pending = revision;
    void this.retry();
  }

  /** To be called now and then: a check that could not be made is made again. */
  async retry(): Promise<void> {
    const revision = this.#pending;
    if (this.#running || revision === undefined) return;
    this.#running = true;
    this.#pending = undefined;
    try {
      await this.#assertReadable(revision - 1n);
    } catch (error) {
      if (isBackupError(error, 'COMPACTED')) this.#fail(untrusted(revision, error));
      else if (this.#pending === undefined || revision < this.#pending) this.#pending = revision;
    } finally {
      this.#running = false;
    }
  }
}

function untrusted(revision: bigint, cause: BackupError): BackupError {
  return new BackupError('COMPACTED', `history was compacted while revision ${revision} was read`, {
    op: 'watch',
    hint: 'a new full snapshot is needed',
    cause,
  });
}
