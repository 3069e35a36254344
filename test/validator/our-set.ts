/** A set that our snapshotter made of a live etcd: full, two deltas, full, delta, each with its manifest. */
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { EtcdVersion } from '../servers/binaries.js';
import { startEtcd } from '../servers/etcd.js';
import { Load } from '../servers/load.js';
import { Backup, backupPlace } from '../snapshotter/backup.js';

export interface OurSet {
  readonly container: string;
  /** Names, by kind, in the order of their revisions. */
  readonly fulls: readonly string[];
  readonly deltas: readonly string[];
  remove(): Promise<void>;
}

export interface OurSetOptions {
  readonly seed?: number;
  readonly steps?: number;
  /** Compacts so many revisions behind before the second full is taken; 0 for never. */
  readonly compactBehind?: number;
  readonly flags?: Readonly<Record<string, string>>;
}

export async function ourSet(version: EtcdVersion, options: OurSetOptions = {}): Promise<OurSet> {
  const { seed = 1, steps = 80, compactBehind = 0, flags = {} } = options;
  const place = await backupPlace();
  const etcd = await startEtcd(version);
  const endpoint = await etcd.open();
  try {
    const load = new Load(endpoint, { seed, compactBehind: 0, bigValues: false });
    await load.run(steps);
    const take = async (once: string) =>
      (await Backup.start(etcd, place, { flags: { ...flags, once } })).ended;
    await take('full');
    for (let round = 0; round < 2; round++) {
      await load.run(steps);
      await take('delta');
    }
    const compactAt = load.revision - BigInt(compactBehind);
    if (compactBehind > 0 && compactAt > 0n)
      await endpoint.kv.compact({ revision: String(compactAt), physical: true });
    // Nothing is written in between: the deltas reach the second full.
    await take('full');
    await load.run(steps);
    await take('delta');
  } finally {
    endpoint.close();
    await etcd.destroy();
  }
  const names = (await readdir(join(place.container, 'v2'))).sort();
  return {
    container: place.container,
    fulls: names.filter((name) => name.startsWith('Full-')),
    deltas: names.filter((name) => name.startsWith('Incr-')),
    remove: () => place.remove(),
  };
}
