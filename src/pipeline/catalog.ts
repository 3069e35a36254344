/**
 * What a store holds, read once: every backup by name, the newest manifests, and what is neither. Names that are
 * not ours are counted and told, never fatal (hazard 34). The whole listing is walked (hazard 7).
 */
import { Semaphore } from '../base/semaphore.js';
import { type BackupError, isBackupError } from '../errors.js';
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
}

export async function readCatalog(
  store: Store,
  options: { readonly signal?: AbortSignal | undefined } = {},
): Promise<Catalog> {
  const listing = await listSnapshots(store, options.signal);
  const warnings: string[] = [];
  const wanted = listing.objects
    .filter(({ name }) => listing.manifests.has(name.text))
    .sort((a, b) => fullsFirst(a, b) || b.name.createdSecs - a.name.createdSecs)
    .slice(0, MAX_MANIFESTS);
  const manifests = new Map<string, Manifest>();
  const slots = new Semaphore(MANIFESTS_AT_A_TIME);
  const load = async ({ name }: StoredSnapshot) => {
    const manifest = await loadManifest(store, name.text, options.signal, warnings);
    if (manifest !== undefined) manifests.set(name.text, manifest);
  };
  await Promise.all(wanted.map((object) => slots.run(1, () => load(object), options)));
  const objects = listing.objects.map((object) => withManifest(object, manifests.get(object.name.text)));
  return { objects, foreign: listing.foreign, warnings };
}

interface Listing {
  readonly objects: StoredSnapshot[];
  /** Names of the objects that have one. */
  readonly manifests: ReadonlySet<string>;
  readonly foreign: { count: number; examples: string[] };
}

async function listSnapshots(store: Store, signal: AbortSignal | undefined): Promise<Listing> {
  const objects: StoredSnapshot[] = [];
  const manifests = new Set<string>();
  const foreign = { count: 0, examples: [] as string[] };
  const odd = (name: string, why: string) => {
    foreign.count += 1;
    if (foreign.examples.length < MAX_TOLD) foreign.examples.push(`${name}: ${why}`);
  };
  for (const dir of BACKUP_DIRS) {
    for await (const { key, bytes } of store.list(dir, { signal, onSkipped: odd })) {
      const found = classifyKey(key);
      if (found.what === 'snapshot') objects.push({ key, name: found.name, bytes });
      else if (found.what === 'manifest') manifests.add(found.of.text);
      else if (found.what === 'foreign') odd(key, found.reason);
    }
  }
  return { objects, manifests, foreign };
}

/** A manifest helps and is never needed: one that cannot be read is a warning, a store that fails is an error. */
async function loadManifest(
  store: Store,
  name: string,
  signal: AbortSignal | undefined,
  warnings: string[],
): Promise<Manifest | undefined> {
  try {
    return parseManifest(
      name,
      await readSmall(store, manifestKey(name), { maxBytes: MAX_MANIFEST_BYTES, signal }),
    );
  } catch (error) {
    const harmless = ['CORRUPT', 'UNSUPPORTED', 'NOT_FOUND'] as const;
    if (!harmless.some((code) => isBackupError(error, code))) throw error;
    warnings.push((error as BackupError).message);
    return undefined;
  }
}

function fullsFirst(a: StoredSnapshot, b: StoredSnapshot): number {
  return Number(b.name.kind === 'full') - Number(a.name.kind === 'full');
}

function withManifest(object: StoredSnapshot, manifest: Manifest | undefined): StoredSnapshot {
  return manifest === undefined ? object : { ...object, manifest };
}
