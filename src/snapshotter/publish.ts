/** Puts an object and its manifest into the store, in this order: an object without its manifest is whole. */
import { isBackupError } from '../errors.js';
import { formatManifest, type Manifest } from '../snapshot/manifest.js';
import { formatName, type NameParts } from '../snapshot/name.js';
import { manifestKey, objectKey } from '../store/layout.js';
import type { Store } from '../store/store.js';

export interface Publication {
  readonly name: NameParts;
  /** Will only be removed afterwards. */
  readonly path: string;
  readonly bytes: number;
  readonly sha256: string;
  readonly manifest: Omit<Manifest, 'version' | 'name' | 'bytes' | 'sha256'>;
}

export interface PublishOptions {
  readonly signal?: AbortSignal | undefined;
  readonly onProgress?: ((bytes: number) => void) | undefined;
}

/** Two writers may cut the same revisions in the same second; the later ones wait for no clock to tick. */
const MAX_NAME_TRIES = 5;

/** The name that the object got. */
export async function publish(
  store: Store,
  publication: Publication,
  options: PublishOptions = {},
): Promise<string> {
  const { path, bytes, sha256, manifest } = publication;
  for (let tried = 1; ; tried++) {
    const createdSecs = publication.name.createdSecs + tried - 1;
    const name = formatName({ ...publication.name, createdSecs });
    try {
      await store.putFile(objectKey(name), path, { bytes, sha256, mayTake: true, ...options });
      await putManifest(store, { ...manifest, name, bytes, sha256 }, options.signal);
      return name;
    } catch (error) {
      if (!isBackupError(error, 'EXISTS') || tried === MAX_NAME_TRIES) throw error;
    }
  }
}

/** The object is there and whole; a manifest that differs is another writer's and may say less, never wrong. */
async function putManifest(
  store: Store,
  manifest: Omit<Manifest, 'version'>,
  signal: AbortSignal | undefined,
): Promise<void> {
  try {
    await store.putBytes(manifestKey(manifest.name), Buffer.from(formatManifest(manifest)), { signal });
  } catch (error) {
    if (!isBackupError(error, 'EXISTS')) throw error;
  }
}
