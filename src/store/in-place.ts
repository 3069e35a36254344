/** Objects that need no copy: those of a `Local` store are files of this machine. */
import { localRoot } from './local/open.js';
import { LocalRoot } from './local/root.js';
import type { StoreSettings } from './registry.js';

/** The path of the object's own file, to be read only; undefined where the store is elsewhere. */
export async function inPlacePath(settings: StoreSettings, key: string): Promise<string | undefined> {
  if (settings.provider !== 'Local' && settings.provider !== '') return undefined;
  return new LocalRoot(localRoot(settings)).existing('store get', key);
}
