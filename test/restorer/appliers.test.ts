/** What either applier makes of the same base and deltas: up to a revision within a delta, and with its leases. */
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { probeEtcdBinary } from '../../src/etcd/etcd-binary.js';
import { hashKv, inspectDb, proveRecords } from '../../src/native/index.js';
import { DeltasAhead } from '../../src/pipeline/ahead.js';
import { readCatalog } from '../../src/pipeline/catalog.js';
import { FetchPool } from '../../src/pipeline/pool.js';
import type { Applied, Applier } from '../../src/restorer/applier.js';
import { type Base, openBase } from '../../src/restorer/base.js';
import { EmbeddedApplier } from '../../src/restorer/embedded-applier.js';
import { NativeApplier } from '../../src/restorer/native-applier.js';
import { openStore } from '../../src/store/open-store.js';
import { ETCD_VERSIONS, etcdBinary } from '../servers/binaries.js';
import { Load } from '../servers/load.js';
import { readTruth } from '../servers/truth.js';
import { APPLIERS, type ApplierName, fixture, restoreFrom } from './request.js';
import { expectRestored, recorded, testDir } from './set-up.js';
import { SMALL_SET } from './small-set.js';

const dir = testDir('appliers');
const VERSION = '3.6.16';

/** Applies all deltas of a store to its full, in `work`, up to a revision. */
async function apply(
  container: string,
  name: ApplierName,
  until: bigint,
): Promise<{ base: Base; applied: Applied }> {
  const settings = { provider: 'Local', container, prefix: '', homeDir: '/nowhere' };
  const { objects } = await readCatalog(await openStore(settings));
  const workDir = dir.in(`work-${name}-${until}`);
  await mkdir(join(workDir, 'apply'), { recursive: true });
  const pool = new FetchPool({ maxFetchers: 2 });
  const source = { pool, settings, workDir };
  const applier: Applier =
    name === 'native' ? new NativeApplier() : new EmbeddedApplier(await probeEtcdBinary(etcdBinary(VERSION)));
  try {
    const full = objects.find((object) => object.name.kind === 'full');
    if (full === undefined) throw new Error('no full');
    const observer = { progress: () => undefined, warn: () => undefined, info: () => undefined };
    const base = await openBase(source, full, { skipHashCheck: false, observer });
    const deltas = objects
      .filter((object) => object.name.kind === 'delta')
      .sort((a, b) => Number(a.name.start - b.name.start))
      .map((object) => ({
        object,
        from: object.name.start,
        to: until < object.name.last ? until : object.name.last,
        alternatives: [],
      }));
    const applied = await applier.apply({
      ...{ base, until, workDir: join(workDir, 'apply'), deltaBytes: 1e6 },
      deltas: new DeltasAhead(source, { maxInflightBytes: 1e6 }).take(deltas),
      seat: {
        cluster: { name: 'm', initialCluster: 'm=http://localhost:1', token: 't' },
        ...{ targetVersion: null, clearAlarms: false },
      },
    });
    return { base, applied };
  } finally {
    await pool.close();
  }
}

describe('a restore that ends within a delta', () => {
  test.each(APPLIERS)('%s applier: exactly there, and equal to the source at that revision', async (name) => {
    const truth = dir.in('truth.db');
    await writeFile(truth, gunzipSync(await readFile(fixture(`${SMALL_SET}/truth.db.gz`))));
    const { compactRevision } = await inspectDb(truth);
    for (const until of [1_484n, 1_485n, 1_900n, 1_981n, 1_982n, 2_500n, 2_981n]) {
      const { base, applied } = await apply(fixture(`${SMALL_SET}/store`), name, until);
      const { dbPath, checkpoints } = applied;
      expect(applied.revision).toBe(until);
      expect((await inspectDb(dbPath)).revision).toBe(until);
      const after = base.info.revision;
      const proof = await proveRecords(dbPath, { after, checkpoints });
      expect(proof.records).toBe(applied.events);
      const at = { revision: until, compactRevision };
      expect((await hashKv(dbPath, at)).hash).toBe((await hashKv(truth, at)).hash);
      expect(applied.lastEventMs === undefined).toBe(until === 1_484n);
    }
  });

  test.each(APPLIERS)(
    '%s applier: leases that are named only behind the end are not granted',
    async (name) => {
      const source = await recorded(VERSION, dir.in('work'));
      const start = await source.put('/a/', 3);
      const store = dir.in('store');
      await source.full(store);
      for (const key of ['1', '2']) {
        const { ID } = await source.endpoint.lease.leaseGrant({ TTL: 5_000 });
        await source.endpoint.kv.put({ key: Buffer.from(key), value: Buffer.from('v'), lease: ID });
      }
      await source.store(store, await source.delta(start + 1n));
      for (const [revision, leases] of [
        [start, 0],
        [start + 1n, 1],
        [start + 2n, 2],
      ] as const) {
        const { applied } = await apply(store, name, revision);
        expect((await inspectDb(applied.dbPath)).leases).toBe(leases);
      }
    },
  );
});

test.each(ETCD_VERSIONS)(
  'etcd %s: record for record what a later snapshot of the source holds',
  async (version) => {
    const source = await recorded(version, dir.in('work'));
    const store = dir.in('store');
    const load = new Load(source.endpoint, { seed: 5, compactBehind: 0 });
    await load.run(100);
    await source.full(store);
    const next = (await source.revision()) + 1n;
    await load.run(300);
    await source.store(store, await source.delta(next));
    const later = await source.snapshot();
    const dataDir = dir.in('data');
    const { base, applied } = await restoreFrom({ applier: 'native', container: store, dataDir, version });
    const db = join(dataDir, 'member/snap/db');
    const after = base.info.revision;
    const proof = await proveRecords(later, { after, checkpoints: applied.checkpoints });
    expect(proof.records).toBe(applied.events);
    const at = { revision: applied.revision, compactRevision: -1n };
    expect((await hashKv(db, at)).hash).toBe((await hashKv(later, at)).hash);
  },
);

test.each(APPLIERS)(
  'hazard 5, %s applier: unknown leases get the TTL of --unknown-lease-ttl',
  async (applier) => {
    const source = await recorded(VERSION, dir.in('work'));
    const start = await source.put('/a/', 3);
    const store = dir.in('store');
    await source.full(store);
    const leased = { key: Buffer.from('leased'), value: Buffer.from('v') };
    const { ID } = await source.endpoint.lease.leaseGrant({ TTL: 5_000 });
    await source.endpoint.kv.put({ ...leased, lease: ID });
    await source.store(store, await source.delta(start + 1n, 'json'));
    const dataDir = dir.in('data');
    const request = { applier, container: store, dataDir, version: VERSION } as const;
    const kept = await restoreFrom(request);
    expect(kept.unknownLeases).toEqual({ leases: 1, keys: 1 });
    expect((await inspectDb(join(dataDir, 'member/snap/db'))).leases).toBe(0);
    const granted = await restoreFrom({ ...request, unknownLeaseTtlSeconds: 5_000 });
    expect(granted.unknownLeases).toEqual({ leases: 1, keys: 1 });
    await expectRestored(VERSION, dataDir, await readTruth(source.endpoint));
  },
);
