/** What lies in a data directory, and whether the volume is the right one. Nothing is written. */
import { readdir, readFile, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { BackupError } from '../../errors.js';

export interface MemberPaths {
  readonly dataDir: string;
  readonly snapDir: string;
  readonly walDir: string;
  readonly db: string;
}

export type Layout =
  | { readonly kind: 'member'; readonly paths: MemberPaths }
  /** Not there, or nothing of a member in it. */
  | { readonly kind: 'nothing'; readonly what: string; readonly exists: boolean }
  | { readonly kind: 'incomplete'; readonly what: string };

/** Written by the Go tool beside the data directory when it first starts: the namespace that the volume belongs to. */
const GUARD_FILE = 'safe_guard';
/** What may lie in a directory that holds nothing. */
const HARMLESS = new Set(['lost+found']);

export async function readLayout(dataDir: string, separateWalDir: string | undefined): Promise<Layout> {
  const kind = await kindOf(dataDir);
  if (kind === 'missing') return { kind: 'nothing', what: 'it does not exist', exists: false };
  if (kind !== 'directory') throw notADirectory(dataDir);
  const names = (await readdir(dataDir)).filter((name) => !HARMLESS.has(name));
  if (names.length === 0) return { kind: 'nothing', what: 'it is empty', exists: true };
  const memberDir = join(dataDir, 'member');
  const snapDir = join(memberDir, 'snap');
  const walDir = separateWalDir ?? join(memberDir, 'wal');
  for (const dir of [memberDir, snapDir, walDir]) {
    if ((await kindOf(dir)) === 'directory') continue;
    const hint = dir === walDir ? '; if etcd runs with --wal-dir, give it here, too' : '';
    return { kind: 'incomplete', what: `${dir} is not there${hint}` };
  }
  const paths = { dataDir, snapDir, walDir, db: join(snapDir, 'db') };
  if ((await kindOf(paths.db)) === 'file') return { kind: 'member', paths };
  return { kind: 'incomplete', what: `${paths.db} is not there` };
}

export type Guard = 'right' | 'unknown' | { readonly wrong: string };

/** The Go tool writes the file when it is missing; who only looks does not. */
export async function readGuard(dataDir: string, namespace: string | undefined): Promise<Guard> {
  if (namespace === undefined) return 'unknown';
  const path = join(dirname(dataDir), GUARD_FILE);
  try {
    const found = await readFile(path, 'utf8');
    if (found === namespace) return 'right';
    return { wrong: `${path} says ${JSON.stringify(found)}, this is ${JSON.stringify(namespace)}` };
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    return code === 'ENOENT' ? 'unknown' : { wrong: `${path} cannot be read (${code})` };
  }
}

async function kindOf(path: string): Promise<'directory' | 'file' | 'missing' | 'other'> {
  try {
    const stats = await stat(path);
    return stats.isDirectory() ? 'directory' : stats.isFile() ? 'file' : 'other';
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR') return 'missing';
    throw new BackupError(code === 'EACCES' ? 'PERMISSION' : 'IO', `cannot be looked at (${code})`, {
      ...{ op: 'verify', object: path, cause },
    });
  }
}

function notADirectory(dataDir: string): BackupError {
  return new BackupError('USAGE', 'it is not a directory', {
    ...{ op: 'verify', object: dataDir, hint: 'a database file alone is verified with --file' },
  });
}
