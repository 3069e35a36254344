/**
 * Directories on local disk that one process owns: a lock file in them is held until the end of the process,
 * however that comes. A directory whose lock can be had was left behind.
 */
import { existsSync } from 'node:fs';
import { lstat, mkdir, open, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { BackupError, isBackupError } from '../errors.js';
import { FileLock } from '../native/index.js';

const LOCK_NAME = 'owner.lock';
const DIRECTORY_MODE = 0o700;
const FILE_MODE = 0o600;

export class OwnedDir {
  readonly path: string;
  readonly #lock: FileLock;

  private constructor(path: string, lock: FileLock) {
    this.path = path;
    this.#lock = lock;
  }

  /** Makes the directory if it is not there. LOCKED when another process owns it. */
  static async acquire(path: string): Promise<OwnedDir> {
    try {
      await mkdir(path, { recursive: true, mode: DIRECTORY_MODE });
      await checkOurs(path);
      const file = await open(join(path, LOCK_NAME), 'a', FILE_MODE);
      await file.close();
    } catch (error) {
      throw diskFault(path, error);
    }
    const lock = FileLock.acquire(join(path, LOCK_NAME));
    if (existsSync(join(path, LOCK_NAME))) return new OwnedDir(path, lock);
    // Its owner removed it just now, and the lock that was taken is on a file without a name.
    lock.release();
    return OwnedDir.acquire(path);
  }

  file(name: string): string {
    return join(this.path, name);
  }

  /** Everything in it but the lock. */
  async entries(): Promise<string[]> {
    return (await readdir(this.path)).filter((name) => name !== LOCK_NAME).sort();
  }

  release(): void {
    this.#lock.release();
  }

  /** The lock goes last, so that nobody finds a half-removed directory free. */
  async remove(): Promise<void> {
    for (const name of await this.entries()) await rm(this.file(name), { recursive: true, force: true });
    await rm(this.path, { recursive: true, force: true });
    this.release();
  }
}

/** Removes what dead processes left below `parent` under names that begin with `prefix`; returns how many. */
export async function removeLeftBehind(parent: string, prefix: string): Promise<number> {
  let removed = 0;
  const names = await readdir(parent).catch(() => []);
  for (const name of names.filter((candidate) => candidate.startsWith(prefix))) {
    if (await removeIfLeft(join(parent, name))) removed += 1;
  }
  return removed;
}

async function removeIfLeft(path: string): Promise<boolean> {
  try {
    await checkOurs(path);
    await lstat(join(path, LOCK_NAME));
    const dir = await OwnedDir.acquire(path);
    await dir.remove();
    return true;
  } catch (error) {
    // Owned by another process, by another user, or gone meanwhile: none of our business.
    if (isBackupError(error) || (error as NodeJS.ErrnoException).code !== undefined) return false;
    throw error;
  }
}

/** A temp directory is everybody's: what lies there under our name may be a trap. */
async function checkOurs(path: string): Promise<void> {
  const stats = await lstat(path);
  const uid = process.getuid?.();
  if (!stats.isDirectory()) throw new BackupError('USAGE', 'it is not a directory', { object: path });
  if (uid !== undefined && stats.uid !== uid) {
    throw new BackupError('PERMISSION', `it belongs to user ${stats.uid}, not to us (${uid})`, {
      object: path,
      hint: 'remove it or choose another directory (--spool-directory, --snapstore-temp-directory)',
    });
  }
}

/** What the local disk refused, as one of our codes. */
export function diskFault(path: string, error: unknown): unknown {
  if (isBackupError(error)) return error;
  const { code } = error as NodeJS.ErrnoException;
  if (code === undefined) return error;
  const kinds = {
    ENOSPC: 'NO_SPACE',
    EROFS: 'READ_ONLY',
    EACCES: 'PERMISSION',
    EPERM: 'PERMISSION',
  } as const;
  return new BackupError(kinds[code as keyof typeof kinds] ?? 'IO', `cannot be used (${code})`, {
    op: 'snapshot',
    object: path,
    hint: 'choose another directory (--spool-directory, --snapstore-temp-directory)',
    cause: error,
  });
}
