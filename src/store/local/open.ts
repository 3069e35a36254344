/** Where a `Local` container lies: an absolute path as it is, a relative one from the home directory (the Go tool's). */
import { isAbsolute, join } from 'node:path';
import { normalizePrefix } from '../layout.js';
import { LocalStore } from './local-store.js';

/** The Go tool's name when none is given. */
export const DEFAULT_CONTAINER = 'default.bkp';

export interface LocalSettings {
  readonly container: string;
  readonly prefix: string;
  readonly homeDir: string;
}

export function openLocal(settings: LocalSettings): LocalStore {
  return new LocalStore({ root: localRoot(settings) });
}

export function localRoot({ container, prefix, homeDir }: LocalSettings): string {
  const named = container === '' ? DEFAULT_CONTAINER : container;
  const directory = isAbsolute(named) ? named : join(homeDir, named);
  return join(directory, normalizePrefix(prefix));
}
