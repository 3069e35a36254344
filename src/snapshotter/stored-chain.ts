/**
 * What the store holds, as far as going on needs it: the newest full and the deltas that were cut after it. Older
 * sets, and other timelines in them, do not matter here: every timeline begins with a full.
 */
import { classifyKey } from '../snapshot/key.js';
import type { SnapshotName } from '../snapshot/name.js';
import { BACKUP_DIRS, MANIFEST_DIR } from '../store/layout.js';
import type { Store } from '../store/store.js';

export interface ChainObject {
  readonly key: string;
  readonly name: SnapshotName;
  readonly bytes: number;
}

export interface StoredChain {
  /** The newest full, by its time. */
  readonly full: ChainObject;
  /** The object that ends highest of those that continue the full without a hole; the full itself if there are none. */
  readonly tip: ChainObject;
  /** The first revision that no object holds although a later delta is there; undefined when nothing is missing. */
  readonly missing: bigint | undefined;
  /** Objects of this set that only our own tools can read: they end the Go tool's restore. */
  readonly ownFormats: boolean;
}

/** Deltas that are looked at behind one full. More means that fulls fail since long: a new set is due. */
export const MAX_CHAIN_DELTAS = 200_000;

/** Undefined when the store holds no full. */
export async function readStoredChain(
  store: Store,
  { signal }: { readonly signal?: AbortSignal | undefined } = {},
): Promise<StoredChain | undefined> {
  const fold = new ChainFold();
  for (const dir of BACKUP_DIRS) {
    for await (const { key, bytes } of store.list(dir, { signal })) {
      // Keys are sorted, and no backup's name sorts behind "manifest".
      if (key.startsWith(`${MANIFEST_DIR}/`)) break;
      const classified = classifyKey(key);
      if (classified.what === 'snapshot') fold.add({ key, name: classified.name, bytes });
    }
  }
  return fold.chain();
}

/** As `readStoredChain`, of objects that are known. */
export function findChain(objects: Iterable<ChainObject>): StoredChain | undefined {
  const fold = new ChainFold();
  for (const object of objects) fold.add(object);
  return fold.chain();
}

/** Holds one full and the deltas that may belong to it, whatever the size of the store. */
class ChainFold {
  #full: ChainObject | undefined;
  #deltas: ChainObject[] = [];
  #tooMany = false;

  add(object: ChainObject): void {
    if (object.name.kind === 'full') {
      if (this.#full !== undefined && !isNewer(object, this.#full)) return;
      this.#full = object;
      this.#deltas = this.#deltas.filter((delta) => follows(delta, object));
    } else if (this.#full === undefined || follows(object, this.#full)) {
      if (this.#deltas.length < MAX_CHAIN_DELTAS) this.#deltas.push(object);
      else this.#tooMany = true;
    }
  }

  chain(): StoredChain | undefined {
    const full = this.#full;
    if (full === undefined) return undefined;
    let tip = full;
    let missing: bigint | undefined;
    for (const delta of this.#deltas.sort(byStart)) {
      if (delta.name.start > tip.name.last + 1n) missing ??= tip.name.last + 1n;
      else if (missing === undefined && delta.name.last > tip.name.last) tip = delta;
    }
    if (this.#tooMany) missing ??= tip.name.last + 1n;
    const ownFormats = [full, ...this.#deltas].some(({ name }) => isOwnFormat(name));
    return { full, tip, missing, ownFormats };
  }
}

function isOwnFormat({ codec, encrypted }: SnapshotName): boolean {
  return codec === 'zstd' || codec === 'ebd' || encrypted;
}

function isNewer(a: ChainObject, b: ChainObject): boolean {
  if (a.name.createdSecs !== b.name.createdSecs) return a.name.createdSecs > b.name.createdSecs;
  return a.name.last > b.name.last;
}

/** What was cut before the full was opened may be of another timeline, and the full holds it otherwise. */
function follows(delta: ChainObject, full: ChainObject): boolean {
  return delta.name.createdSecs >= full.name.createdSecs && delta.name.last > full.name.last;
}

function byStart(a: ChainObject, b: ChainObject): number {
  if (a.name.start !== b.name.start) return a.name.start < b.name.start ? -1 : 1;
  return a.name.last < b.name.last ? -1 : 1;
}
