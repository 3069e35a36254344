/**
 * What a key of the store is. Keys are relative to the store's prefix and begin with the version, so a prefix that
 * itself holds "v1" or "v2" (`env1/main`, `a/v1/b`) is never searched for one, as the Go tool does:
 *
 *   v2/<name>                    backup
 *   v2/<name>/<10 digits>        chunk that the Go tool leaves on GCS and Swift; its object is composed of them
 *   v2/manifest/<name>.json      manifest
 *   v2/verified/<unixms>-<16 hex digits>.jsonl.gz
 *                                results of verifications, where `verify --remember` was asked for
 *   v1/Backup-<unixsecs>/<name>  backup of long ago, chunks below it
 */
import { parseName, type SnapshotName } from './name.js';

export type ClassifiedKey =
  | { readonly what: 'snapshot'; readonly key: string; readonly name: SnapshotName }
  | { readonly what: 'chunk'; readonly key: string; readonly of: SnapshotName; readonly index: number }
  | { readonly what: 'manifest'; readonly key: string; readonly of: SnapshotName }
  /** Results of verifications. */
  | { readonly what: 'verified'; readonly key: string }
  /** A path element begins with ".": a temporary file, ours or another's. */
  | { readonly what: 'hidden'; readonly key: string }
  /** Not ours: to be counted and warned about, never read, never deleted. */
  | { readonly what: 'foreign'; readonly key: string; readonly reason: string };

const V1_DIR = /^Backup-\d{1,12}$/;
const CHUNK = /^\d{10}$/;
const VERIFIED = /^\d{13}-[0-9a-f]{16}\.jsonl\.gz$/;
const MANIFEST_SUFFIX = '.json';

export function classifyKey(key: string): ClassifiedKey {
  const elements = key.split('/');
  if (elements.some((element) => element.startsWith('.'))) return { what: 'hidden', key };
  const [version, ...rest] = elements;
  if (version === 'v2') return classifyV2(key, rest);
  if (version === 'v1') return classifyV1(key, rest);
  return foreign(key, 'is not below v2/ or v1/');
}

function classifyV2(key: string, rest: readonly string[]): ClassifiedKey {
  const [first = '', second, ...more] = rest;
  if (first === 'manifest' && second !== undefined && more.length === 0) return classifyManifest(key, second);
  if (first === 'verified' && second !== undefined && VERIFIED.test(second) && more.length === 0)
    return { what: 'verified', key };
  if (first === 'v1' || first === 'v2') {
    return foreign(key, `is below another ${first}/: it belongs to a prefix that ends in v2`);
  }
  return classifyObject(key, rest);
}

function classifyV1(key: string, rest: readonly string[]): ClassifiedKey {
  const [dir = '', ...below] = rest;
  if (!V1_DIR.test(dir)) return foreign(key, 'is not below v1/Backup-<unixsecs>/');
  return classifyObject(key, below);
}

function classifyObject(key: string, path: readonly string[]): ClassifiedKey {
  const [first = '', chunk, ...more] = path;
  const parsed = parseName(first);
  if (!parsed.ok) return foreign(key, parsed.reason);
  if (chunk === undefined) return { what: 'snapshot', key, name: parsed.name };
  if (more.length > 0 || !CHUNK.test(chunk)) return foreign(key, 'lies below a backup and is no chunk of it');
  return { what: 'chunk', key, of: parsed.name, index: Number(chunk) };
}

function classifyManifest(key: string, file: string): ClassifiedKey {
  if (!file.endsWith(MANIFEST_SUFFIX)) return foreign(key, 'lies among the manifests and is none');
  const parsed = parseName(file.slice(0, -MANIFEST_SUFFIX.length));
  return parsed.ok
    ? { what: 'manifest', key, of: parsed.name }
    : foreign(key, `is a manifest of nothing: its name ${parsed.reason}`);
}

function foreign(key: string, reason: string): ClassifiedKey {
  return { what: 'foreign', key, reason };
}
