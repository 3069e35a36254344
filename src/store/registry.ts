/** Which providers there are: one visible table. A provider is a factory; what wraps it is `open-store.ts`'s. */
import { BackupError } from '../errors.js';
import { openLocal } from './local/open.js';
import type { Store } from './store.js';

/** The part of the store's configuration that a provider needs. */
export interface StoreSettings {
  /** One of `PROVIDER_NAMES`, in the Go tool's spelling. */
  readonly provider: string;
  /** Bucket or directory. */
  readonly container: string;
  /** Directory within the container, without the version ("v2"). */
  readonly prefix: string;
  /** Where relative containers of `Local` begin. */
  readonly homeDir: string;
}

export type StoreFactory = (settings: StoreSettings) => Store | Promise<Store>;

const PROVIDERS: Readonly<Record<string, StoreFactory | 'not yet'>> = {
  Local: openLocal,
  S3: 'not yet',
  GCS: 'not yet',
  ABS: 'not yet',
  Swift: 'not yet',
  OSS: 'not yet',
  ECS: 'not yet',
  OCS: 'not yet',
};

export const PROVIDER_NAMES: readonly string[] = Object.keys(PROVIDERS);

/** An empty name means Local, as in the Go tool's store; commands that read it as "no backups" ask before. */
export function storeFactory(provider: string): StoreFactory {
  const name = provider === '' ? 'Local' : provider;
  const entry = Object.hasOwn(PROVIDERS, name) ? PROVIDERS[name] : undefined;
  const object = `--storage-provider ${JSON.stringify(provider)}`;
  if (entry === undefined) {
    const hint = `give one of ${PROVIDER_NAMES.join(', ')}`;
    throw new BackupError('USAGE', 'no such storage provider', { op: 'store', object, hint });
  }
  if (entry === 'not yet') {
    const hint = 'use Local, for example on a mounted volume';
    throw new BackupError('UNSUPPORTED', 'this provider comes with the stores issue', {
      op: 'store',
      object,
      hint,
    });
  }
  return entry;
}
