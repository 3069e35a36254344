/** No etcd may run on what is verified: bbolt's own lock, held meanwhile. */
import { sleep } from '../../base/abort.js';
import { BackupError, isBackupError } from '../../errors.js';
import { FileLock } from '../../native/index.js';

/** An etcd that is just being stopped gets so long; then the holder is named. */
const PATIENCE_MS = 2_000;
const POLL_MS = 100;

export async function lockMember(
  db: string,
  { dataDir, signal }: { readonly dataDir: string; readonly signal?: AbortSignal | undefined },
): Promise<FileLock> {
  const deadlineMs = performance.now() + PATIENCE_MS;
  for (;;) {
    try {
      return FileLock.acquire(db);
    } catch (error) {
      if (!isBackupError(error, 'LOCKED')) throw error;
      if (performance.now() > deadlineMs) throw running(dataDir, error);
      await sleep(POLL_MS, { signal });
    }
  }
}

function running(dataDir: string, cause: BackupError): BackupError {
  return new BackupError('LOCKED', `an etcd is running on it (${cause.message})`, {
    ...{ op: 'verify', object: dataDir, cause },
    hint: 'a running etcd writes to its database: stop it, or verify a backup of it instead',
  });
}
