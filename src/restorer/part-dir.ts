/**
 * `<live>.part`, the private directory of one restore:
 *
 *   etcdbr-restore.lock   flock of the process that owns it
 *   journal.json          from just before the swap on (swap.ts)
 *   work/                 fetched files, the base, the replaying etcd
 *   new/                  becomes `live`
 *
 * A directory whose lock can be had was left by a process that is gone, and is removed, once a swap that it had begun
 * is finished. One without our lock is not ours and is never touched.
 */
import { lstat, mkdir, open, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { BackupError, isBackupError } from '../errors.js';
import { FileLock } from '../native/index.js';
import { diskFault } from './disk-fault.js';
import { finishSwap } from './swap.js';
import { exists, makeParent, type Target } from './target.js';

const LOCK_NAME = 'etcdbr-restore.lock';

export class PartDir {
  readonly path: string;
  readonly work: string;
  readonly new: string;
  readonly #lock: FileLock;

  private constructor(path: string, lock: FileLock) {
    this.path = path;
    this.work = join(path, 'work');
    this.new = join(path, 'new');
    this.#lock = lock;
  }

  /** LOCKED when another restore is at work on the same target. */
  static async open(target: Target): Promise<PartDir> {
    try {
      await makeParent(target);
      const lock = await own(target.part);
      const part = new PartDir(target.part, lock);
      await emptyButLock(part.path);
      await mkdir(part.work, { mode: 0o700 });
      return part;
    } catch (error) {
      throw diskFault(error, target.part);
    }
  }

  /** A new, empty directory below `work`. */
  async makeDir(name: string): Promise<string> {
    const path = join(this.work, name);
    await mkdir(path, { mode: 0o700 });
    return path;
  }

  /** Everything in it goes, the lock last. */
  async remove(): Promise<void> {
    await emptyButLock(this.path);
    await rm(this.path, { recursive: true, force: true });
    this.#lock.release();
  }
}

/** The lock goes last: without it, what a kill leaves of the rest would not be known as ours. */
async function emptyButLock(path: string): Promise<void> {
  for (const name of await readdir(path)) {
    if (name !== LOCK_NAME) await rm(join(path, name), { recursive: true, force: true });
  }
}

/** Finishes or cleans what a killed restore has left; returns what was done, in words. */
export async function settleLeftover(target: Target): Promise<string | undefined> {
  if (!(await exists(target.part))) return undefined;
  try {
    const lock = await own(target.part);
    const finished = await finishSwap(target);
    await emptyButLock(target.part);
    await rm(target.part, { recursive: true, force: true });
    lock.release();
    return finished ?? `removed ${target.part}, which a restore that was killed had left`;
  } catch (error) {
    throw diskFault(error, target.part);
  }
}

async function own(path: string): Promise<FileLock> {
  await mkdir(path, { mode: 0o700 }).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EEXIST') throw error;
  });
  await checkOurs(path);
  const lockPath = join(path, LOCK_NAME);
  await (await open(lockPath, 'a', 0o600)).close();
  try {
    return FileLock.acquire(lockPath);
  } catch (error) {
    if (!isBackupError(error, 'LOCKED')) throw error;
    throw new BackupError('LOCKED', `another restore of the same directory is running (${error.message})`, {
      op: 'restore',
      object: path,
      hint: 'wait for it, or end it',
      cause: error,
    });
  }
}

/** Ours has the lock file; an empty one may be ours, killed right after it was made. */
async function checkOurs(path: string): Promise<void> {
  const stats = await lstat(path);
  const names = stats.isDirectory() ? await readdir(path) : ['?'];
  if (names.length === 0 || names.includes(LOCK_NAME)) return;
  throw new BackupError('EXISTS', 'it is in the way and was not made by a restore of this program', {
    op: 'restore',
    object: path,
    hint: 'move it away, then restore again',
  });
}
