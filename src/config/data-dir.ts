/** `verify --data-dir`: which data directory, and how deep. */
import { resolve } from 'node:path';
import { BackupError } from '../errors.js';
import { bool, choice, type Given, parseFlags, text } from './flag.js';
import { verifyFlags } from './verify.js';

export const dataDirFlags = {
  dataDir: text('data-dir', '', 'verify this data directory of a stopped etcd instead of a store', {
    short: 'd',
  }),
  walDir: text('wal-dir', '', 'its WAL, when that is not inside of it'),
  mode: choice(
    'mode',
    ['sanity', 'full'],
    'full',
    'with --data-dir: sanity reads the WAL and the ends of the database, full every page and record of it, too',
  ),
  repair: bool(
    'repair',
    false,
    'with --data-dir: cut off a torn end of the WAL, and keep the file as it was',
  ),
} as const;

export type DataDirMode = 'sanity' | 'full';

export interface DataDirConfig {
  /** Absolute. */
  readonly dataDir: string;
  /** Absolute. */
  readonly walDir: string | undefined;
  readonly mode: DataDirMode;
  readonly repair: boolean;
  /** May replay the WAL in a copy. */
  readonly etcdBinary: string | undefined;
  /** What `safe_guard` beside the data directory must say; undefined when nobody says. */
  readonly namespace: string | undefined;
  /** Whether the revision is to be compared with that of a store. */
  readonly hasStore: boolean;
}

const STORE_FLAGS = ['storage-provider', 'store-container', 'store-prefix'];

/** Undefined when no data directory is named. */
export function parseDataDirConfig(
  given: Given,
  env: NodeJS.ProcessEnv = process.env,
): DataDirConfig | undefined {
  const { dataDir, walDir, mode, repair } = parseFlags(dataDirFlags, given);
  const { etcdBinary } = parseFlags({ etcdBinary: verifyFlags.etcdBinary }, given);
  if (dataDir === '') {
    const alone = ['data-dir', 'wal-dir', 'mode', 'repair'].find((name) => given.has(name));
    if (alone === undefined) return undefined;
    throw new BackupError('USAGE', 'says nothing without --data-dir DIR', { object: `--${alone}` });
  }
  return Object.freeze({
    dataDir: absolute('--data-dir', dataDir),
    walDir: walDir === '' ? undefined : absolute('--wal-dir', walDir),
    mode,
    repair,
    etcdBinary: etcdBinary || undefined,
    namespace: env.POD_NAMESPACE || undefined,
    hasStore: STORE_FLAGS.some((name) => given.has(name)) || Boolean(env.STORAGE_CONTAINER),
  });
}

function absolute(flag: string, path: string): string {
  if (!path.startsWith('~')) return resolve(path);
  throw new BackupError('USAGE', `${path}: ~ is not expanded here`, {
    object: flag,
    hint: 'write the path out, or leave it to the shell by not quoting it',
  });
}
