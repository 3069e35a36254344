/**
 * For the reader of "no backups found": other places where they often turn out to be. The Go tool puts a `Local`
 * container below $HOME even when its path is absolute, and appends "v2" to every prefix.
 */
import { join } from 'node:path';
import { normalizePrefix } from './layout.js';
import { LocalStore } from './local/local-store.js';
import { DEFAULT_CONTAINER, localRoot } from './local/open.js';
import type { StoreSettings } from './registry.js';
import type { Store, StoreOptions } from './store.js';

/** Objects looked at per place, so that a look at a foreign directory stays short. */
const LOOK_AT_OBJECTS = 1000;
const BACKUP_NAME = /(^|\/)(Full|Incr)-\d{8,}-\d{8,}-\d+[^/]*$/;

export interface Elsewhere {
  /** What to give instead. */
  readonly container: string;
  readonly prefix: string;
  /** The directory that was found. */
  readonly path: string;
  /** One of the backups there. */
  readonly example: string;
}

/** Places that hold backups, the likeliest first. Only `Local` is looked at; empty for every other provider. */
export async function whereElse(settings: StoreSettings, options: StoreOptions = {}): Promise<Elsewhere[]> {
  if (settings.provider !== 'Local' && settings.provider !== '') return [];
  const asked = localRoot(settings);
  const found: Elsewhere[] = [];
  const seen = new Set([asked]);
  for (const { container, prefix } of candidates(settings)) {
    const path = localRoot({ ...settings, container, prefix });
    if (seen.has(path)) continue;
    seen.add(path);
    const example = await firstBackup(new LocalStore({ root: path }), options);
    if (example !== undefined) found.push({ container, prefix, path, example });
  }
  return found;
}

function candidates({ container, prefix, homeDir }: StoreSettings): { container: string; prefix: string }[] {
  const named = container === '' ? DEFAULT_CONTAINER : container;
  const containers = [named, join(homeDir, named), join(process.cwd(), named)];
  const given = normalizePrefix(prefix);
  const prefixes = [given, withoutVersion(given), ''];
  return containers.flatMap((one) => prefixes.map((other) => ({ container: one, prefix: other })));
}

/** Someone who gives the whole path of the objects ends it with the version. */
function withoutVersion(prefix: string): string {
  return prefix.replace(/(^|\/)v[12]$/, '');
}

async function firstBackup(store: Store, { signal }: StoreOptions): Promise<string | undefined> {
  for (const directory of ['v2', 'v1']) {
    try {
      let looked = 0;
      for await (const { key } of store.list(directory, { signal })) {
        if (BACKUP_NAME.test(key)) return key;
        looked += 1;
        if (looked >= LOOK_AT_OBJECTS) break;
      }
    } catch (error) {
      if (signal?.aborted === true) throw error;
      // A place that may not be read is not a hint.
    }
  }
  return undefined;
}
