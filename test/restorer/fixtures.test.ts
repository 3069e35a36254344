/** Sets that the Go tool wrote restore to exactly what their sources held, and every etcd from then on starts from it. */
import { cp, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { ETCD_VERSIONS, type EtcdVersion, releaseOf } from '../servers/binaries.js';
import { startEtcd } from '../servers/etcd.js';
import { removeTempDir, tempDir } from '../servers/process.js';
import { APPLIERS, fixture, restoreFrom } from './request.js';
import { differencesFrom, sourceTruth } from './source-truth.js';

let dir: string;
beforeEach(() => {
  dir = tempDir('restore');
});
afterEach(() => removeTempDir(dir));

const SETS = [
  'gardener-plain-etcd3.4',
  'gardener-gzip-etcd3.5',
  'gardener-compacted-etcd3.5',
  'gardener-two-writers-etcd3.5',
  'gardener-zlib-etcd3.6',
  'gardener-prefixed-etcd3.6',
  'gardener-lzw-etcd3.7',
] as const;

/** The version of the source and all newer ones. */
function fromOn(version: EtcdVersion): EtcdVersion[] {
  return ETCD_VERSIONS.slice(ETCD_VERSIONS.indexOf(version));
}

const RESTORES = SETS.flatMap((name) => APPLIERS.map((applier) => [name, applier] as const));

describe.each(RESTORES)('%s, %s applier', (name, applier) => {
  test('hazard 6: a set with leased keys restores to its source, and its etcd and every newer one start from it', async () => {
    const version = releaseOf(name.slice(-3));
    const truth = await sourceTruth(name);
    const prefix = name.includes('prefixed') ? 'team/cluster-a/v2' : '';
    const dataDir = join(dir, 'data');
    const container = fixture(`${name}/store`);
    const result = await restoreFrom({ applier, container, prefix, dataDir, version });
    expect(result.plan.revision).toBe(truth.revision);
    expect(result.proof.liveKeys).toBe(truth.keys.size);
    expect((await readdir(dir)).sort()).toEqual(['data']);
    expect([...truth.keys.values()].some((facts) => /^\d+ \d+ \d+ [1-9]/.test(facts))).toBe(true);
    // What differs between the two is not in the directory: one of them is enough for the other versions.
    for (const booted of applier === 'native' ? fromOn(version) : [version]) {
      const copy = join(dir, booted);
      await cp(dataDir, copy, { recursive: true });
      const etcd = await startEtcd(booted, { dataDir: copy });
      const endpoint = await etcd.open();
      try {
        expect(await differencesFrom(truth, endpoint)).toEqual([]);
        await endpoint.kv.put({ key: Buffer.from('after'), value: Buffer.from('restore') });
      } finally {
        endpoint.close();
        await etcd.destroy();
      }
    }
  });
});

const SNAPSHOTS = ETCD_VERSIONS.flatMap((version) =>
  ['snapshot', 'snapshot-auth-alarm'].map((snapshot) => [version, snapshot] as const),
);

test.each(SNAPSHOTS)(
  'a snapshot of etcd %s (%s) restores without an etcd and starts there',
  async (version, snapshot) => {
    const source = fixture(`etcd-${version.slice(0, 3)}`);
    const store = join(dir, 'store');
    await cp(fixture('gardener-plain-etcd3.4/store/v2'), join(store, 'v2'), {
      recursive: true,
      filter: (path) => path.endsWith('v2'),
    });
    const db = gunzipSync(await readFile(join(source, `${snapshot}.db.gz`)));
    await writeFile(join(store, 'v2', 'Full-00000000-00001000-1700000000'), db);
    const dataDir = join(dir, 'data');
    const result = await restoreFrom({ container: store, dataDir, etcdBinary: '/no/etcd/is/needed' });
    expect(result.base.info.authEnabled).toBe(snapshot === 'snapshot-auth-alarm');
    const etcd = await startEtcd(version, { dataDir });
    try {
      if (snapshot === 'snapshot-auth-alarm') return;
      const truth = await sourceTruth(`etcd-${version.slice(0, 3)}`);
      const endpoint = await etcd.open();
      expect(await differencesFrom(truth, endpoint)).toEqual([]);
      endpoint.close();
    } finally {
      await etcd.destroy();
    }
  },
);
