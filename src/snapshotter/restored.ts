/**
 * `<data-dir>/etcdbr-restored.json`: our own restore leaves it in the directory that it built. Backups of that etcd
 * name it, so that a later restore follows the new timeline instead of taking it for a fork (architecture, decision 6).
 *
 *   { "base": name of the full, "revision": "123", "restoredAtMs": 1700000000000, "id": random text }
 */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import * as v from 'valibot';
import type { Manifest } from '../snapshot/manifest.js';
import type { Observer } from './events.js';

export const RESTORED_FILE = 'etcdbr-restored.json';

export interface Restored {
  readonly from: NonNullable<Manifest['restoredFrom']>;
  readonly id: string;
}

const schema = v.object({
  base: v.pipe(v.string(), v.nonEmpty()),
  revision: v.pipe(
    v.string(),
    v.regex(/^\d{1,19}$/),
    v.transform((text) => BigInt(text)),
  ),
  restoredAtMs: v.pipe(v.number(), v.safeInteger(), v.minValue(0)),
  id: v.pipe(v.string(), v.nonEmpty(), v.maxLength(128)),
});

/** Undefined for a data directory that no restore of ours has built. */
export async function readRestored(dataDir: string, observe: Observer): Promise<Restored | undefined> {
  const path = join(dataDir, RESTORED_FILE);
  try {
    const { id, ...from } = v.parse(schema, JSON.parse(await readFile(path, 'utf8')));
    return { from, id };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    const hint =
      'backups will not name the restore that this etcd comes from; a later restore may ask for --timeline';
    observe({ kind: 'warning', text: `${path} cannot be read (${(error as Error).message})`, hint });
    return undefined;
  }
}
