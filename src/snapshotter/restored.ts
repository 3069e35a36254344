/** Learns from the data directory whether the etcd comes from a restore of ours (`src/snapshot/restored-mark.ts`). */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Manifest } from '../snapshot/manifest.js';
import { parseRestoredMark, RESTORED_FILE } from '../snapshot/restored-mark.js';
import type { Observer } from './events.js';

export interface Restored {
  readonly from: NonNullable<Manifest['restoredFrom']>;
  readonly id: string;
}

/** Undefined for a data directory that no restore of ours has built. */
export async function readRestored(dataDir: string, observe: Observer): Promise<Restored | undefined> {
  const path = join(dataDir, RESTORED_FILE);
  try {
    const { id, ...from } = parseRestoredMark(await readFile(path, 'utf8'));
    return { from, id };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    const hint =
      'backups will not name the restore that this etcd comes from; a later restore may ask for --timeline';
    observe({ kind: 'warning', text: `${path} cannot be read (${(error as Error).message})`, hint });
    return undefined;
  }
}
