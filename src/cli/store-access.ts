/** Opening the store that the flags name, for every command that has one. */
import { formatDuration } from '../base/duration.js';
import { parseStoreConfig, type StoreConfig } from '../config/store.js';
import { openStore } from '../store/open-store.js';
import type { Store } from '../store/store.js';
import { whereElse } from '../store/where-else.js';
import type { CommandContext } from './command.js';

export interface OpenedStore {
  readonly store: Store;
  readonly config: StoreConfig;
}

export async function openConfiguredStore({ given, log }: CommandContext): Promise<OpenedStore> {
  const config = parseStoreConfig(given);
  const store = await openStore(config, {
    onRetry: ({ error, waitMs }) =>
      log.warn(`${error.message}; trying again in ${formatDuration(Math.round(waitMs))}`),
  });
  return { store, config };
}

/** For whoever finds nothing: where was looked, and where backups do lie. */
export async function whereToLook({ store, config }: OpenedStore, signal: AbortSignal): Promise<string> {
  const others = await whereElse(config, { signal });
  const looked = `looked in ${store.location}`;
  if (others.length === 0)
    return `${looked}; give --store-container and --store-prefix as the backup had them`;
  const hints = others.map(({ container, prefix, path, example }) => {
    const flags = `--store-container ${container}${prefix === '' ? '' : ` --store-prefix ${prefix}`}`;
    return `there are backups in ${path} (${example}): give ${flags}`;
  });
  return [looked, ...hints].join('\n');
}
