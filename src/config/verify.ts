/** What is verified, and what is remembered of it. */
import { homedir } from 'node:os';
import { join, resolve } from 'node:path';
import { BackupError } from '../errors.js';
import { bool, duration, type Given, integer, parseFlags, text } from './flag.js';

const DAY_MS = 24 * 3_600_000;
/** A month of nights: what has changed without a trace is found within that time. */
const MAX_AGE_MS = 30 * DAY_MS;
const OFF = 'off';

export const verifyFlags = {
  file: text('file', '', 'verify this file instead of a store: a snapshot, a full or a delta'),
  skipHashCheck: bool(
    'skip-hash-check',
    false,
    'accept a file that lacks its SHA-256 (copied from a data directory)',
  ),
  stateDir: text(
    'state-dir',
    '',
    `where sound objects are remembered, so that the next run reads only what is new; "${OFF}": nowhere ` +
      '(default $XDG_STATE_HOME/etcdbr or ~/.local/state/etcdbr)',
  ),
  again: bool('again', false, 'read everything, whatever is remembered'),
  maxAgeMs: duration('max-age', MAX_AGE_MS, 'a sound object is read again after this time', { min: 0 }),
  remember: bool('remember', false, 'remember sound objects in the store, too (below v2/verified/)'),
  deep: bool(
    'deep',
    false,
    'hold each full, record by record, against the full before it and the deltas between them',
  ),
  trialRestore: bool(
    'trial-restore',
    false,
    'restore the newest state into the temporary directory, start an etcd on it, ask it, and remove it',
  ),
  etcdBinary: text(
    'etcd-binary',
    '',
    'etcd for --trial-restore (default: etcd in PATH); for --data-dir, where only a replay in a temporary copy tells',
  ),
  maxVerifiers: integer('max-verifiers', 4, 'objects verified at a time', { min: 1, max: 64 }),
} as const;

export interface VerifyConfig {
  readonly file: string | undefined;
  readonly skipHashCheck: boolean;
  /** Absolute; undefined for nowhere. */
  readonly stateDir: string | undefined;
  readonly again: boolean;
  readonly maxAgeMs: number;
  readonly remember: boolean;
  readonly maxVerifiers: number;
  readonly deep: boolean;
  readonly trialRestore: boolean;
  readonly etcdBinary: string | undefined;
}

export function parseVerifyConfig(given: Given, env: NodeJS.ProcessEnv = process.env): VerifyConfig {
  const { file, stateDir, etcdBinary, ...values } = parseFlags(verifyFlags, given);
  if (stateDir.startsWith('~')) {
    throw new BackupError('USAGE', `${stateDir}: ~ is not expanded here`, {
      object: '--state-dir',
      hint: 'write the path out, or leave it to the shell by not quoting it',
    });
  }
  return Object.freeze({
    ...values,
    file: file || undefined,
    stateDir: stateDirOf(stateDir, env),
    etcdBinary: etcdBinary || undefined,
  });
}

/** As the XDG Base Directory Specification says: a relative $XDG_STATE_HOME does not count. */
function stateDirOf(typed: string, env: NodeJS.ProcessEnv): string | undefined {
  if (typed === OFF) return undefined;
  if (typed !== '') return resolve(typed);
  const home = env.XDG_STATE_HOME;
  const base = home?.startsWith('/') ? home : join(env.HOME || homedir(), '.local', 'state');
  return join(base, 'etcdbr');
}
