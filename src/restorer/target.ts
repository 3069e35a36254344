/**
 * Where a restore goes. What is exchanged at the end is `live`: the data directory itself, or, when that is a mount
 * point (which cannot be renamed), the `member` directory in it. Everything is built beside it, on its file system.
 */
import type { Stats } from 'node:fs';
import { lstat, mkdir, readdir, readFile, realpath, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { BackupError } from '../errors.js';

export interface Target {
  /** Absolute, links resolved. */
  readonly dataDir: string;
  readonly isMountPoint: boolean;
  /** What is replaced as a whole. */
  readonly live: string;
  /** Where everything of a running restore lies. */
  readonly part: string;
}

/** What may lie in an empty data directory. */
const HARMLESS = new Set(['lost+found']);
const KEPT_BEFORE = /\.before-\d+$/;

export async function locateTarget(dataDir: string): Promise<Target> {
  const resolved = await resolveDir(dataDir);
  const isMountPoint = await isMounted(resolved);
  const live = isMountPoint ? join(resolved, 'member') : resolved;
  return { dataDir: resolved, isMountPoint, live, part: `${live}.part` };
}

/** The database of the member that is there now; undefined when there is none. Refuses what is no data directory. */
export async function findOldDb({ dataDir, part, live }: Target): Promise<string | undefined> {
  const entries = await namesIn(dataDir);
  const others = entries.filter(
    (name) => !HARMLESS.has(name) && !KEPT_BEFORE.test(name) && join(dataDir, name) !== part,
  );
  if (others.length === 0) return undefined;
  const member = join(dataDir, 'member');
  if (!others.includes('member')) {
    throw refused(
      dataDir,
      `it holds ${others.slice(0, 3).join(', ')} and no member directory, so it is not an etcd's`,
      {
        hint: 'give another --data-dir, or empty this one',
      },
    );
  }
  if (!(await exists(join(member, 'wal'))) && (await exists(join(member, 'snap')))) {
    throw refused(
      dataDir,
      `${join(member, 'wal')} is missing: this etcd keeps its WAL in another directory`,
      {
        hint: `the restored member has its WAL in ${live}; move the old data directory and the old WAL away, restore, and start etcd without --wal-dir`,
      },
    );
  }
  const db = join(member, 'snap', 'db');
  return (await exists(db)) ? db : undefined;
}

/** Makes what is missing above the target, so that the place beside it exists. */
export async function makeParent({ part }: Target): Promise<void> {
  await mkdir(dirname(part), { recursive: true });
}

export async function exists(path: string): Promise<boolean> {
  return (await lstatOrUndefined(path)) !== undefined;
}

export async function lstatOrUndefined(path: string): Promise<Stats | undefined> {
  return lstat(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return undefined;
    throw error;
  });
}

/** The nearest directory above `path` that exists: what is asked for space and rights. */
export async function nearestExisting(path: string): Promise<string> {
  let at = path;
  while (!(await exists(at)) && dirname(at) !== at) at = dirname(at);
  return at;
}

async function resolveDir(dataDir: string): Promise<string> {
  const stats = await stat(dataDir).catch(() => undefined);
  if (stats === undefined) {
    const parent = await nearestExisting(dirname(dataDir));
    const real = await realpath(parent);
    return join(real, dataDir.slice(parent.length));
  }
  if (stats.isDirectory()) return realpath(dataDir);
  throw refused(dataDir, 'it is not a directory', { hint: 'give another --data-dir' });
}

/** By the kernel's list: a bind mount has the device number of its parent. */
async function isMounted(path: string): Promise<boolean> {
  const table = await readFile('/proc/self/mountinfo', 'utf8').catch(() => '');
  const points = table.split('\n').map((line) => unescapeOctal(line.split(' ')[4] ?? ''));
  if (points.includes(path)) return true;
  if (table !== '') return false;
  const [own, above] = await Promise.all([lstatOrUndefined(path), lstatOrUndefined(dirname(path))]);
  return own !== undefined && above !== undefined && own.dev !== above.dev;
}

/** Octal escapes of mountinfo: space, tab, newline, backslash. */
function unescapeOctal(path: string): string {
  return path.replace(/\\([0-7]{3})/g, (_, digits) => String.fromCharCode(Number.parseInt(digits, 8)));
}

async function namesIn(dir: string): Promise<string[]> {
  return readdir(dir).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return [];
    throw new BackupError(error.code === 'EACCES' ? 'PERMISSION' : 'IO', `cannot be read (${error.code})`, {
      ...{ op: 'restore', object: dir, cause: error },
    });
  });
}

function refused(dataDir: string, what: string, { hint }: { hint: string }): BackupError {
  return new BackupError('USAGE', what, {
    op: 'restore',
    object: `${dirname(dataDir)}/${basename(dataDir)}`,
    hint,
  });
}
