/** `--pack` and `--compact`: records as a real etcd would have them, and files that an etcd can live on. */
import { execFile } from 'node:child_process';
import { mkdir, readdir, stat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, test } from 'vitest';
import { checkDb, checkMvcc, digestRecords, inspectDb, verifyDelta } from '../../src/native/index.js';
import type { ApplyRequest } from '../../src/restorer/applier.js';
import { checkQuota } from '../../src/restorer/quota.js';
import { rewritingOf } from '../../src/restorer/rewriting.js';
import { RewritingApplier } from '../../src/restorer/rewriting-applier.js';
import { bboltBinary, ETCD_VERSIONS, type EtcdVersion } from '../servers/binaries.js';
import { startEtcd } from '../servers/etcd.js';
import { Load } from '../servers/load.js';
import { Random } from '../servers/random.js';
import { readTruth } from '../servers/truth.js';
import { type Heard, restoreFrom } from './request.js';
import { expectRestored, recorded, testDir } from './set-up.js';

const dir = testDir('rewriting');

/** A full and two deltas of random transactions; the source is left running. */
async function sourceOf(version: EtcdVersion, seed: number) {
  const source = await recorded(version, dir.in('work'));
  const load = new Load(source.endpoint, { seed, keys: 150 });
  const store = dir.in('store');
  await load.run(200);
  await source.full(store);
  for (let round = 0; round < 2; round++) {
    const from = (await source.revision()) + 1n;
    await load.run(100);
    await source.store(store, await source.delta(from, round === 0 ? 'ebd' : 'json'));
  }
  return { source, store, truth: await readTruth(source.endpoint) };
}

const restoredDb = (name: string) => join(dir.in(name), 'member', 'snap', 'db');

describe.each(ETCD_VERSIONS)('etcd %s', (version) => {
  test('what --compact leaves is what the source leaves when it compacts there', async () => {
    const { source, store, truth } = await sourceOf(version, 31);
    await source.endpoint.kv.compact({ revision: String(truth.revision), physical: true });
    const theirs = await digestRecords(await source.snapshot());
    for (const applier of ['native', 'embedded'] as const) {
      const change = { container: store, version, compact: true, applier } as const;
      const { applied } = await restoreFrom({ ...change, etcdVersion: version, dataDir: dir.in(applier) });
      expect(await digestRecords(restoredDb(applier))).toEqual(theirs);
      expect(applied.rewritten).toMatchObject({ kind: 'compact', liveKeys: truth.keys.length });
      const { revision, compactRevision } = await inspectDb(restoredDb(applier));
      expect({ revision, compactRevision }).toEqual({
        revision: truth.revision,
        compactRevision: truth.revision,
      });
    }
    // 3.4 gives no HashKV at the revision of its compaction; that it starts is seen below.
    if (!version.startsWith('3.4.'))
      await expectRestored(version, dir.in('native'), truth, { leases: false });
  });

  test('what --pack writes holds every record', async () => {
    const { source, store, truth } = await sourceOf(version, 32);
    const theirs = await digestRecords(await source.snapshot());
    for (const applier of ['native', 'embedded'] as const) {
      const change = { container: store, version, pack: true, applier } as const;
      const { proof } = await restoreFrom({ ...change, dataDir: dir.in(applier) });
      expect(proof.records).toBeGreaterThan(200);
      expect(await digestRecords(restoredDb(applier))).toEqual(theirs);
    }
    await expectRestored(version, dir.in('native'), truth, { leases: false });
  });
});

test('hazard 24: a base with a damaged freelist, and one that is mostly free, are packed unasked', () => {
  const object = { key: '', bytes: 1, name: { text: 'Full-1' } } as never;
  const wish = { pack: false, compact: false, etcdVersion: undefined };
  const shape = { sound: true, bytes: 100 << 20, freeBytes: 51 << 20 };
  expect(rewritingOf(wish, { object, shape })).toEqual({
    kind: 'pack',
    why: '51% of Full-1 are free pages',
  });
  expect(rewritingOf(wish, { object, shape: { ...shape, freeBytes: 49 << 20 } })).toBeUndefined();
  expect(
    rewritingOf(wish, { object, shape: { ...shape, bytes: 20 << 20, freeBytes: 15 << 20 } }),
  ).toBeUndefined();
  expect(rewritingOf(wish, { object, shape: { ...shape, freeBytes: 0, sound: false } })).toMatchObject({
    kind: 'pack',
    why: 'the freelist of Full-1 is damaged',
  });
});

test('a full that is mostly free pages becomes a small database', async () => {
  const source = await recorded('3.6.16', dir.in('work'));
  for (let at = 0; at < 30; at++)
    await source.endpoint.kv.put({ key: Buffer.from('big'), value: Buffer.alloc(1_000_000, at) });
  const revision = await source.put('small', 20);
  await source.endpoint.kv.compact({ revision: String(revision), physical: true });
  await source.full(dir.in('store'));
  const heard: Heard = { warnings: [], infos: [] };
  const result = await restoreFrom({ container: dir.in('store'), dataDir: dir.in('data') }, heard);
  expect(result.applied.rewritten?.why).toMatch(/% of Full-.* are free pages/);
  expect(heard.infos.join('\n')).toMatch(/the database is packed: .* free pages/);
  expect((await stat(restoredDb('data'))).size).toBeLessThan(4 << 20);
  await expectRestored('3.6.16', dir.in('data'), await readTruth(source.endpoint));
});

/** Deltas many times larger than what is alive: the room needed is that of a few stages, not of the history. */
test('hazard 18: a compaction in stages gives the same and needs little room', async () => {
  const source = await recorded('3.6.16', dir.in('work'));
  await source.put('k', 7);
  const basePath = await source.snapshot();
  const deltas: string[] = [];
  for (let round = 0; round < 12; round++) {
    const from = (await source.revision()) + 1n;
    for (let at = 0; at < 12; at++)
      await source.endpoint.kv.put({ key: Buffer.from(`k${at % 7}`), value: noise(20_000, round * 12 + at) });
    deltas.push((await source.delta(from)).path);
  }
  const until = await source.revision();
  let peakBytes = 0;
  const request = {
    base: { path: basePath, bytes: 1, info: await inspectDb(basePath), object: { name: { text: 'Full' } } },
    deltas: (async function* () {
      for (const path of deltas) {
        const { lastRevision } = await lastOf(path);
        yield { path, object: basename(path), lastRevision, through: lastRevision } as never;
        peakBytes = Math.max(peakBytes, await bytesIn(dir.in('apply')));
      }
    })(),
    seat: { cluster: CLUSTER, targetVersion: null, clearAlarms: false },
    ...{ until, workDir: dir.in('apply'), deltaBytes: 0 },
  } as unknown as ApplyRequest;
  const rewriting = { kind: 'compact', why: 'test', keepsTombstonesAt: true } as const;
  const observer = { progress: () => undefined, warn: () => undefined, info: () => undefined };
  await mkdir(dir.in('apply'));
  const applied = await new RewritingApplier(rewriting, observer, { stageBytes: 1 }).apply(request);
  expect(applied).toMatchObject({ revision: until, events: 144 });
  expect(peakBytes).toBeLessThan(3 * 12 * 20_000);
  await source.endpoint.kv.compact({ revision: String(until), physical: true });
  expect(await digestRecords(applied.dbPath)).toEqual(await digestRecords(await source.snapshot()));
  expect(await readdir(dir.in('apply'))).toHaveLength(1);
});

test('hazard 18: a result above the quota is refused with the flag, never compacted unasked', async () => {
  const { store } = await sourceOf('3.6.16', 33);
  const change = { container: store, dataDir: dir.in('data'), quotaBytes: 100_000 };
  await expect(restoreFrom(change)).rejects.toMatchObject({
    code: 'UNSUPPORTED',
    message: expect.stringContaining('--embedded-etcd-quota-bytes=100000'),
    hint: expect.stringContaining('--compact'),
  });
  expect(await readdir(dir.path)).not.toContain('data');
  const warnings: string[] = [];
  const observer = {
    progress: () => undefined,
    info: () => undefined,
    warn: (text: string) => warnings.push(text),
  };
  checkQuota(9 * 2 ** 30, { quotaBytes: undefined, compact: false }, observer);
  expect(warnings.join()).toMatch(/9\.00 GiB: --compact leaves only what is alive/);
});

/** Writes, deletions, compactions and defragmentations on a packed and on a compacted database, and nothing breaks. */
test.each(ETCD_VERSIONS)('a year of etcd %s on what was written anew', async (version) => {
  const { store } = await sourceOf(version, 34);
  for (const kind of ['pack', 'compact'] as const) {
    const dataDir = dir.in(kind);
    await restoreFrom({ container: store, dataDir, version, [kind]: true });
    await liveAYear(version, dataDir);
    const db = join(dataDir, 'member', 'snap', 'db');
    expect(await checkDb(db, { threads: 2, maxFindings: 5 })).toMatchObject({ findings: [] });
    expect(await checkMvcc(db, { maxFindings: 5 })).toMatchObject({ findings: [] });
    await promisify(execFile)(bboltBinary(), ['check', db]);
  }
});

async function liveAYear(version: EtcdVersion, dataDir: string): Promise<void> {
  for (let month = 0; month < 4; month++) {
    const etcd = await startEtcd(version, { dataDir });
    const endpoint = await etcd.open();
    const load = new Load(endpoint, { seed: 40 + month, keys: 150, compactBehind: 20 });
    await load.run(month === 0 ? 600 : 250);
    const { revision } = await endpoint.status();
    // Deletes from every leaf, then leaves of a few records: what kills an etcd on a badly built tree.
    await endpoint.kv.compact({ revision: String(revision), physical: true });
    if (month % 2 === 1) await etcd.ctl('defrag');
    endpoint.close();
    await etcd.stop();
  }
}

const CLUSTER = { name: 'default', initialCluster: 'default=http://localhost:2380', token: 'etcd-cluster' };

function noise(bytes: number, seed: number): Buffer {
  return new Random(seed).bytes(bytes);
}

async function lastOf(path: string) {
  const { summary } = await verifyDelta('test', path);
  return summary;
}

async function bytesIn(path: string): Promise<number> {
  const sizes = (await readdir(path)).map(async (name) => (await stat(join(path, name))).size);
  return (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0);
}
