/** `--bump-revision N --mark-compacted`: no client may go on with what it saw of the lost etcd (hazard 38). */
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { EtcdClient } from '../../src/etcd/client.js';
import type { EtcdEndpoint } from '../../src/etcd/endpoint.js';
import { openWatch } from '../../src/etcd/watch.js';
import { inspectDb } from '../../src/native/index.js';
import { reportLines, reportOf } from '../../src/restorer/report.js';
import { restore } from '../../src/restorer/restore.js';
import { checkRaise } from '../../src/restorer/seat.js';
import type { SnapshotName } from '../../src/snapshot/name.js';
import { CollectingSink } from '../etcd/collecting-sink.js';
import { ETCD_VERSIONS, type EtcdVersion } from '../servers/binaries.js';
import { startEtcd, type TestEtcd } from '../servers/etcd.js';
import { readKeys, readTruth, type Truth } from '../servers/truth.js';
import { Backup, backupPlace } from '../snapshotter/backup.js';
import { restoredCluster, storeWithFull } from './members-set-up.js';
import { fixture, requestFor, restoreFrom } from './request.js';
import { cleanUp, expectRestored, testDir } from './set-up.js';
import { keyDifferences, sourceTruth } from './source-truth.js';

const dir = testDir('members-revision');
const BUMP = 1_000_000;

async function started(version: EtcdVersion, dataDir: string) {
  const etcd = await startEtcd(version, { dataDir });
  cleanUp(() => etcd.destroy());
  const endpoint = await etcd.open();
  cleanUp(() => endpoint.close());
  return { etcd, endpoint };
}

/** How the watch of a client ends that had seen all before `startRevision`. */
async function endOfWatch(etcd: TestEtcd, startRevision: bigint): Promise<unknown> {
  const client = await EtcdClient.open(etcd.connection());
  const watch = openWatch({
    client,
    startRevision,
    sink: new CollectingSink(startRevision),
    outageLimitMs: 5_000,
  });
  watch.opened.catch(() => undefined);
  try {
    return await watch.ended.catch((error: unknown) => error);
  } finally {
    client.close();
  }
}

async function put(endpoint: EtcdEndpoint, key: string): Promise<bigint> {
  const { header } = await endpoint.kv.put({ key: Buffer.from(key), value: Buffer.from('put') });
  return BigInt(header.revision);
}

test.each(ETCD_VERSIONS)(
  'hazard 38: an old watcher is told "compacted", and the next put is above all it saw, etcd %s',
  async (version) => {
    const dataDir = dir.in('data');
    const { container, revision } = await storeWithFull(dir.in('store'), version);
    const request = await requestFor({ container, dataDir, bumpRevision: BUMP });
    const result = await restore(request);
    const raised = revision + BigInt(BUMP);
    expect(result).toMatchObject({ raisedRevision: raised, plan: { revision } });
    expect(reportLines(reportOf(request, result)).join('\n')).toContain(`Raised to revision ${raised}`);

    const { etcd, endpoint } = await started(version, dataDir);
    const truth = await sourceTruth(`etcd-${version.slice(0, 3)}`);
    expect((await endpoint.status()).revision).toBe(raised);
    const keys = await readKeys(endpoint, raised);
    expect(keyDifferences(truth, keys)).toEqual([]);
    for (const seen of [revision, revision + 5n, raised - 1n]) {
      expect(await endOfWatch(etcd, seen)).toMatchObject({
        code: 'COMPACTED',
        message: expect.stringContaining(`compacted to ${raised}`),
      });
      await expect(endpoint.getAt(Buffer.from('k'), seen)).rejects.toMatchObject({ code: 'COMPACTED' });
    }
    expect(await put(endpoint, 'after')).toBe(raised + 1n);

    await etcd.restart();
    expect(await put(endpoint, 'after a restart')).toBe(raised + 2n);
    expect(await readKeys(endpoint, raised)).toEqual(keys);
    await etcd.stop();
    expect(await inspectDb(join(dataDir, 'member', 'snap', 'db'))).toMatchObject({
      revision: raised + 2n,
      compactRevision: raised,
      scheduledCompactRevision: raised,
    });
  },
);

test('hazard 38: a raise that ends below what clients have seen is refused, with the number that is enough', async () => {
  const dataDir = dir.in('data');
  await restoreFrom({ container: fixture('gardener-gzip-etcd3.5/store'), dataDir });
  const older = { container: fixture('gardener-plain-etcd3.4/store'), dataDir, replaceNewer: true };
  await expect(restoreFrom({ ...older, bumpRevision: 8 })).rejects.toMatchObject({
    ...{ code: 'USAGE', hint: expect.stringContaining('at least 9') },
  });
  const db = join(dataDir, 'member', 'snap', 'db');
  expect(await inspectDb(db)).toMatchObject({ revision: 2989n });
  await restoreFrom({ ...older, bumpRevision: 9 });
  expect(await inspectDb(db)).toMatchObject({ revision: 2990n });

  const name = { text: 'Incr-00000900-00001000-1700000000', last: 1000n } as SnapshotName;
  const objects = [{ name }];
  const seen = { objects, exclude: [], oldRevision: undefined };
  expect(() => checkRaise(900n, 100, seen)).toThrow(/revision 1000 is in a backup/);
  checkRaise(900n, 101, seen);
  checkRaise(900n, 1, { ...seen, exclude: [name.text] });
});

async function expectKeys(dataDir: string, { revision, keys }: Truth, by: bigint): Promise<void> {
  const { etcd, endpoint } = await started('3.6.16', dataDir);
  expect((await endpoint.status()).revision).toBe(revision + by);
  expect(await readKeys(endpoint, revision + by)).toEqual(keys);
  await etcd.stop();
}

test('three members raised alike form a cluster that goes on above', async () => {
  const full = await storeWithFull(dir.in('store'), '3.6.16');
  const { cluster } = await restoredCluster('3.6.16', 3, dir.path, { ...full, bumpRevision: BUMP });
  const endpoints = await cluster.endpoints();
  const raised = full.revision + BigInt(BUMP);
  expect(await put(endpoints[0] as EtcdEndpoint, 'after')).toBe(raised + 1n);
  const hashes = await Promise.all(endpoints.map((endpoint) => endpoint.hashKv(raised)));
  expect(new Set(hashes.map(({ hash }) => hash)).size).toBe(1);
});

test('an etcd that was raised is backed up and restored like any other', async () => {
  const { container, revision } = await storeWithFull(dir.in('store'), '3.6.16');
  await restoreFrom({ container, dataDir: dir.in('raised'), bumpRevision: BUMP });
  const { etcd, endpoint } = await started('3.6.16', dir.in('raised'));
  const place = await backupPlace();
  cleanUp(() => place.remove());
  const backup = await Backup.start(etcd, place);
  cleanUp(() => backup.stop().catch(() => undefined));
  await backup.saw('full-stored');
  for (let at = 0; at < 20; at++) await put(endpoint, `after/${at}`);
  await backup.stop();
  const expected = await readTruth(endpoint);
  expect(expected.revision).toBe(revision + BigInt(BUMP) + 20n);
  await etcd.stop();
  for (const change of [
    {},
    { applier: 'embedded' },
    { pack: true },
    { compact: true },
    { bumpRevision: 7 },
  ] as const) {
    const name = Object.keys(change)[0] ?? 'as it is';
    const restored = await restoreFrom({ container: place.container, dataDir: dir.in(name), ...change });
    expect(restored.plan).toMatchObject({ revision: expected.revision });
    if (name === 'bumpRevision') await expectKeys(dir.in(name), expected, 7n);
    else await expectRestored('3.6.16', dir.in(name), expected);
  }
});
