/** One object, from memory or by reading it. Damage is a verdict, not an error: the others are looked at all the same. */
import { BackupError, isBackupError, isDamaged } from '../errors.js';
import { loadManifest } from '../pipeline/catalog.js';
import type { StoredSnapshot } from '../snapshot/plan.js';
import type { Store } from '../store/store.js';
import type { Memory } from './memory.js';
import { digestOf, type RememberedObject } from './remembered.js';
import type { ObjectFindings, ObjectVerdict, VerifyOptions } from './verdict.js';
import { verifyDelta } from './verify-delta.js';
import { verifyFull } from './verify-full.js';

export interface VerifyObjectOptions extends VerifyOptions {
  /** Private, on local disk. */
  readonly workDir: string;
  /** Where a sound object is to stay: a full plain, a delta as it is. */
  readonly keepAt?: string | undefined;
  /** There is a manifest, and the catalog left it out. */
  readonly manifestUnread: boolean;
}

export function recall(object: StoredSnapshot, memory: Memory): ObjectVerdict | undefined {
  const entry = memory.object(object);
  if (entry === undefined) return undefined;
  const { revision, records, sha256, predecessor, checkedAtMs, bytes } = entry;
  const claim = predecessor && { name: predecessor.name, sha256: predecessor.sha256 };
  return {
    ...{ object: object.name.text, bytes, revision, records, sha256, predecessor: claim, checkedAtMs },
    ...{ problems: [], remembered: true },
  };
}

/** Undefined when it is not there any more: somebody deletes old backups. */
export async function readThrough(
  store: Store,
  object: StoredSnapshot,
  options: VerifyObjectOptions,
): Promise<ObjectVerdict | undefined> {
  const findings = await findingsOf(store, object, options);
  if (findings === undefined) return undefined;
  const { name, bytes } = object;
  return { object: name.text, bytes, ...findings, checkedAtMs: Date.now(), remembered: false };
}

/** Undefined for what is not to be remembered. */
export function toRemember(
  { key, modifiedMs, manifest }: StoredSnapshot,
  verdict: ObjectVerdict,
): RememberedObject | undefined {
  const { object, bytes, sha256, revision, records, predecessor, problems, checkedAtMs } = verdict;
  if (problems.length > 0 || sha256 === undefined || revision === undefined) return undefined;
  if (records === undefined || modifiedMs === undefined) return undefined;
  return {
    ...{ kind: 'object', object, key, bytes, modifiedMs, sha256, revision, records, checkedAtMs },
    manifest: manifest && digestOf(manifest),
    predecessor: predecessor && { name: predecessor.name, sha256: predecessor.sha256 },
  };
}

async function findingsOf(
  store: Store,
  listed: StoredSnapshot,
  options: VerifyObjectOptions,
): Promise<ObjectFindings | undefined> {
  try {
    if (listed.name.encrypted) {
      throw new BackupError('UNSUPPORTED', 'is encrypted, which cannot be read yet');
    }
    const object = options.manifestUnread ? await withManifest(store, listed, options.signal) : listed;
    const verify = object.name.kind === 'full' ? verifyFull : verifyDelta;
    return await verify(store, object, options.workDir, options);
  } catch (error) {
    if (isBackupError(error, 'NOT_FOUND') && (await isGone(store, listed, options.signal))) return undefined;
    if (!isDamaged(error)) throw error;
    const unknown = { revision: undefined, records: undefined, sha256: undefined, predecessor: undefined };
    return { ...unknown, problems: [error.message] };
  }
}

async function isGone(
  store: Store,
  { key }: StoredSnapshot,
  signal: AbortSignal | undefined,
): Promise<boolean> {
  try {
    await store.head(key, { signal });
    return false;
  } catch (error) {
    if (isBackupError(error, 'NOT_FOUND')) return true;
    throw error;
  }
}

async function withManifest(
  store: Store,
  object: StoredSnapshot,
  signal: AbortSignal | undefined,
): Promise<StoredSnapshot> {
  const manifest = await loadManifest(store, object.name.text, { signal });
  if (!(manifest instanceof BackupError)) return { ...object, manifest };
  if (manifest.code === 'NOT_FOUND') return object;
  throw manifest;
}
