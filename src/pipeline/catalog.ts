/**
 * What a store holds, read once: every backup by name, the newest manifests, and what is neither. Names that are
 * not ours are counted and told, never fatal (hazard 34). The whole listing is walked (hazard 7).
 */
import { Semaphore } from '../base/semaphore.js';
import { BackupError, isBackupError } from '../errors.js';
import { classifyKey } from '../snapshot/key.js';
import { MAX_MANIFEST_BYTES, type Manifest, parseManifest } from '../snapshot/manifest.js';
import type { StoredSnapshot } from '../snapshot/plan.js';
import { BACKUP_DIRS, manifestKey } from '../store/layout.js';
import { readSmall } from '../store/read.js';
import type { Store } from '../store/store.js';

/** Manifests that are read: of fulls before those of deltas (which matter where a delta begins a timeline), newest first. */
const MAX_MANIFESTS = 1_000;
const MANIFESTS_AT_A_TIME = 8;
/** Odd names that are told one by one; all are counted. */
const MAX_TOLD = 10;

export interface Catalog {
  readonly objects: readonly StoredSnapshot[];
  /** Odd names beside the backups: counted, the first few named. */
  readonly foreign: { readonly count: number; readonly examples: readonly string[] };
  /** What could not be read though it should have been. */
  readonly warnings: readonly string[];
  readonly manifests: ManifestNames;
  /** Results of verifications that were remembered here: `v2/verified/…`, in the order of their keys. */
  readonly verified: readonly string[];
}

/** Names of objects whose manifest is not in `objects` though there is one, or that have a manifest and are gone. */
export interface ManifestNames {
  /** With the reason. */
  readonly damaged: ReadonlyMap<string, string>;
  /** Beyond the bound on what is read. */
  readonly unread: ReadonlySet<string>;
  /** Manifests of objects that are not there. */
  readonly orphans: readonly string[];
}

export async function readCatalog(
  store: Store,
  options: { readonly signal?: AbortSignal | undefined } = {},
): Promise<Catalog> {
  const listing = await listSnapshots(store, options.signal);
  const warnings: string[] = [];
  const damaged = new Map<string, string>();
  const sorted = listing.objects
    .filter(({ name }) => listing.manifests.has(name.text))
    .sort((a, b) => fullsFirst(a, b) || b.name.createdSecs - a.name.createdSecs);
  const wanted = sorted.slice(0, MAX_MANIFESTS);
  const manifests = new Map<string, Manifest>();
  const slots = new Semaphore(MANIFESTS_AT_A_TIME);
  const load = async ({ name }: StoredSnapshot) => {
    const manifest = await loadManifest(store, name.text, options);
    if (manifest instanceof BackupError) {
      warnings.push(manifest.message);
      if (manifest.code === 'CORRUPT') damaged.set(name.text, manifest.message);
    } else manifests.set(name.text, manifest);
  };
  await Promise.all(wanted.map((object) => slots.run(1, () => load(object), options)));
  const objects = listing.objects.map((object) => withManifest(object, manifests.get(object.name.text)));
  const unread = new Set(sorted.slice(MAX_MANIFESTS).map(({ name }) => name.text));
  const known = new Set(objects.map(({ name }) => name.text));
  const orphans = [...listing.manifests].filter((name) => !known.has(name));
  const { foreign, verified } = listing;
  return { objects, foreign, warnings, manifests: { damaged, unread, orphans }, verified };
}

interface Listing {
  readonly objects: StoredSnapshot[];
  /** Names of the objects that have one. */
  readonly manifests: ReadonlySet<string>;
  readonly foreign: { count: number; examples: string[] };
  readonly verified: string[];
}

async function listSnapshots(store: Store, signal: AbortSignal | undefined): Promise<Listing> {
  const objects: StoredSnapshot[] = [];
  const manifests = new Set<string>();
  const verified: string[] = [];
  const foreign = { count: 0, examples: [] as string[] };
  const odd = (name: string, why: string) => {
    foreign.count += 1;
    if (foreign.examples.length < MAX_TOLD) foreign.examples.push(`${name}: ${why}`);
  };
  for (const dir of BACKUP_DIRS) {
    for await (const { key, bytes, modifiedMs } of store.list(dir, { signal, onSkipped: odd })) {
      const found = classifyKey(key);
      if (found.what === 'snapshot') objects.push({ key, name: found.name, bytes, modifiedMs });
      else if (found.what === 'manifest') manifests.add(found.of.text);
      else if (found.what === 'verified') verified.push(key);
      else if (found.what === 'foreign') odd(key, found.reason);
    }
  }
  return { objects, manifests, foreign, verified };
}

/**
 * A manifest helps and is never needed: one that cannot be read is an error to be told, a store that fails is one that
 * is thrown.
 */
export async function loadManifest(
  store: Store,
  name: string,
  { signal }: { readonly signal?: AbortSignal | undefined } = {},
): Promise<Manifest | BackupError> {
  try {
    const bytes = await readSmall(store, manifestKey(name), { maxBytes: MAX_MANIFEST_BYTES, signal });
    return parseManifest(name, bytes);
  } catch (error) {
    const harmless = ['CORRUPT', 'UNSUPPORTED', 'NOT_FOUND'] as const;
    if (!isBackupError(error) || !harmless.some((code) => error.code === code)) throw error;
    return error;
  }
}

function fullsFirst(a: StoredSnapshot, b: StoredSnapshot): number {
  return Number(b.name.kind === 'full') - Number(a.name.kind === 'full');
}

function withManifest(object: StoredSnapshot, manifest: Manifest | undefined): StoredSnapshot {
  return manifest === undefined ? object : { ...object, manifest };
}
