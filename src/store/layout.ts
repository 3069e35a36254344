/**
 * Where things lie in a container, said once:
 *
 *   <container>/<prefix>/v2/<name>                   backups, ours and the Go tool's
 *   <container>/<prefix>/v2/<name>/<chunk number>    chunks of the Go tool on GCS and Swift
 *   <container>/<prefix>/v2/manifest/<name>.json     our manifests
 *   <container>/<prefix>/v2/verified/…               results of verifications, only where they were asked for
 *   <container>/<prefix>/v1/Backup-<unixsecs>/<name> what the Go tool wrote long ago
 *
 * A store is opened at <container>/<prefix>; keys begin with the version. So a prefix that itself holds "v1" or
 * "v2" is never mistaken for the version: the Go tool appends "v2" to whatever it was given, and with
 * `--store-prefix team/v2` its backups lie below team/v2/v2.
 */
import { BackupError } from '../errors.js';

/** Directories that may hold backups, in the order of their keys. */
export const BACKUP_DIRS = ['v1', 'v2'] as const;
export const WRITTEN_DIR = 'v2';
export const MANIFEST_DIR = 'v2/manifest';
export const VERIFIED_DIR = 'v2/verified';

/** Leaves room for the longest name of a backup within the 1024 bytes of a key. */
export const MAX_PREFIX_BYTES = 768;

export function objectKey(name: string): string {
  return `${WRITTEN_DIR}/${name}`;
}

export function manifestKey(name: string): string {
  return `${MANIFEST_DIR}/${name}.json`;
}

/** Ascending in time; objects never change, so each writing is an object of its own. `id`: 16 hex digits. */
export function verifiedKey(writtenMs: number, id: string): string {
  return `${VERIFIED_DIR}/${String(writtenMs).padStart(13, '0')}-${id}.jsonl.gz`;
}

/** `--store-prefix` as path elements without "//" and slashes at its ends; "" when there is none. */
export function normalizePrefix(prefix: string): string {
  const elements = prefix.split('/').filter((element) => element !== '' && element !== '.');
  const clean = elements.join('/');
  const fault = prefixFault(elements, clean);
  if (fault === undefined) return clean;
  throw new BackupError('USAGE', `not a prefix inside a container: ${fault}`, {
    op: 'store',
    object: `--store-prefix ${JSON.stringify(prefix)}`,
    hint: 'give path elements joined by "/", for example team/cluster-a',
  });
}

/** Unlike keys, a prefix may hold elements that begin with ".": it is the user's, and above everything we list. */
function prefixFault(elements: string[], clean: string): string | undefined {
  if (elements.includes('..')) return 'it holds the element ".."';
  if (/\p{Surrogate}|\0/u.test(clean)) return 'it holds a NUL byte or half a character';
  if (Buffer.byteLength(clean) > MAX_PREFIX_BYTES) return `it is longer than ${MAX_PREFIX_BYTES} bytes`;
  return undefined;
}
