/** The member that is about to be replaced: no etcd may hold it, and it must not know more than the backup. */
import { BackupError, isBackupError } from '../errors.js';
import { FileLock, inspectDb } from '../native/index.js';
import type { RestoreObserver } from './observer.js';
import { findOldDb, type Target } from './target.js';

export interface OldMember {
  /** Undefined when its database cannot be read. */
  readonly revision: bigint | undefined;
  /** Keeps every etcd from starting on it until released. */
  readonly lock: FileLock;
}

export async function takeOldMember(
  target: Target,
  observer: RestoreObserver,
  options: { readonly signal?: AbortSignal | undefined },
): Promise<OldMember | undefined> {
  const path = await findOldDb(target);
  if (path === undefined) return undefined;
  const lock = lockDb(path, target);
  try {
    const { revision } = await inspectDb(path, options);
    return { revision, lock };
  } catch (error) {
    if (!isBackupError(error) || error.code === 'CANCELLED') {
      lock.release();
      throw error;
    }
    observer.warn(`the old database cannot be read, so its revision is not known: ${error.message}`);
    return { revision: undefined, lock };
  }
}

export function checkStale(
  target: Target,
  old: OldMember | undefined,
  planned: bigint,
  { replaceNewer, command }: { readonly replaceNewer: boolean; readonly command: string },
): void {
  if (old?.revision === undefined || old.revision <= planned || replaceNewer) return;
  throw new BackupError(
    'STALE',
    `it is at revision ${old.revision}, newer than the backup, which reaches revision ${planned}`,
    {
      op: 'restore',
      object: target.dataDir,
      hint: `start etcd from it, or replace it all the same (the old one is kept):\n  ${command} --replace-newer`,
    },
  );
}

function lockDb(path: string, target: Target): FileLock {
  try {
    return FileLock.acquire(path);
  } catch (error) {
    if (!isBackupError(error, 'LOCKED')) throw error;
    throw new BackupError('LOCKED', `an etcd is running on it (${error.message})`, {
      op: 'restore',
      object: target.dataDir,
      hint: 'stop that etcd, then restore again',
      cause: error,
    });
  }
}
