/** Survivors of a compaction without an etcd are those of a real etcd that was compacted at the same revision. */
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import {
  checkDb,
  checkMvcc,
  compactDb,
  digestRecords,
  hashKv,
  inspectDb,
  packDb,
} from '../../src/native/index.js';
import { recorded, testDir } from '../restorer/set-up.js';
import { ETCD_VERSIONS, type EtcdVersion } from '../servers/binaries.js';
import { Load } from '../servers/load.js';

const dir = testDir('native-compact');

/** Of the versions that are tested with; 3.4.34 and 3.5.16 brought it to the older lines. */
const keepsTombstonesAt = (version: EtcdVersion) => !version.startsWith('3.4.');

/**
 * Random transactions in a full, which may have been compacted, and deltas. Revision `at` deletes a key and writes one;
 * `last` is the one behind it, since no etcd gives a HashKV at the very revision of its compaction.
 */
async function history(version: EtcdVersion, seed: number) {
  const source = await recorded(version, dir.in('work'));
  const before = new Load(source.endpoint, { seed, keys: 120, compactBehind: seed % 2 === 0 ? 90 : 0 });
  const load = new Load(source.endpoint, { seed: seed + 100, keys: 120 });
  const key = Buffer.from('/last');
  await source.endpoint.kv.put({ key, value: Buffer.from('1') });
  await before.run(250);
  const base = await source.snapshot();
  const deltas: string[] = [];
  for (let round = 0; round < 3; round++) {
    const from = (await source.revision()) + 1n;
    await load.run(120);
    if (round === 2) {
      await deleteAndPut(source.endpoint, key);
      await source.endpoint.kv.put({ key, value: Buffer.from('3') });
    }
    deltas.push((await source.delta(from)).path);
  }
  const last = await source.revision();
  return { source, base, deltas, at: last - 1n, last };
}

async function deleteAndPut(etcd: Awaited<ReturnType<typeof recorded>>['endpoint'], key: Buffer) {
  const put = { request_put: { key: Buffer.from('/last-put'), value: Buffer.from('2') } };
  await etcd.kv.txn({ compare: [], success: [{ request_delete_range: { key } }, put], failure: [] });
}

describe.each(ETCD_VERSIONS)('etcd %s', (version) => {
  test.each([21, 22])('compacted at the revision of a deletion, seed %i', async (seed) => {
    const { source, base, deltas, at, last } = await history(version, seed);
    const target = dir.in('compacted.db');
    const request = { base, deltas, until: last, target };
    const done = await compactDb(request, { at, keepsTombstonesAt: keepsTombstonesAt(version) });
    expect(await digestRecords(target)).toEqual({
      records: done.packed.records,
      sha256: done.packed.recordsSha256,
    });

    await source.endpoint.kv.compact({ revision: String(at), physical: true });
    const theirs = await source.snapshot();
    expect(await digestRecords(target)).toEqual(await digestRecords(theirs));
    const asked = await source.endpoint.hashKv(last, { timeoutMs: 10_000 });
    expect(asked.compactRevision).toBe(at);
    const ours = await hashKv(target, { revision: last, compactRevision: at });
    expect(ours).toMatchObject({ hash: asked.hash, comparable: true });
    const info = await inspectDb(target);
    expect(info).toMatchObject({ revision: last, compactRevision: at, scheduledCompactRevision: at });
    await expectSound(target);
  });
});

test('base and deltas packed hold what a later snapshot holds', async () => {
  const { source, base, deltas, last } = await history('3.6.16', 23);
  const target = dir.in('packed.db');
  const packed = await packDb({ base, deltas, until: null, target });
  expect(packed.revision).toBe(last);
  expect(await digestRecords(target)).toEqual(await digestRecords(await source.snapshot()));
  const { freePages } = await expectSound(target);
  expect(freePages).toBe(0);
});

test('compacted twice at one revision is refused, and so is what lies below', async () => {
  const { base, deltas, at } = await history('3.7.3', 24);
  const request = { base, deltas, until: at, target: dir.in('once.db') };
  const { liveKeys } = await compactDb(request, { at, keepsTombstonesAt: true });
  await expectSound(dir.in('once.db'), liveKeys);
  const again = { base: dir.in('once.db'), deltas: [], until: null, target: dir.in('twice.db') };
  for (const revision of [at, at - 1n]) {
    const twice = compactDb(again, { at: revision, keepsTombstonesAt: true });
    await expect(twice).rejects.toMatchObject({ code: 'COMPACTED', object: join(dir.path, 'once.db') });
  }
});

async function expectSound(path: string, liveKeys?: number): Promise<{ freePages: number }> {
  const structure = await checkDb(path, { threads: 2, maxFindings: 5 });
  expect(structure).toMatchObject({ findings: [], warnings: [] });
  const history = await checkMvcc(path, { maxFindings: 5 });
  expect(history.findings).toEqual([]);
  if (liveKeys !== undefined) expect(history.liveKeys).toBe(liveKeys);
  return { freePages: structure.highWater - structure.pages };
}
