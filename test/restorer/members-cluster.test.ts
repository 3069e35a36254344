/** Clusters of several members from directories that `restore` made, one for each member, from the same backup (R8). */
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import type { EtcdEndpoint } from '../../src/etcd/endpoint.js';
import type { RestoreResult } from '../../src/restorer/restore.js';
import { ETCD_VERSIONS } from '../servers/binaries.js';
import type { TestCluster } from '../servers/cluster.js';
import { keptPorts } from '../servers/ports.js';
import { type HashedState, restoredCluster, storeWithFull } from './members-set-up.js';
import { APPLIERS, fixture } from './request.js';
import { testDir } from './set-up.js';
import { differencesFrom, sourceTruth } from './source-truth.js';

const dir = testDir('members-cluster');
const PUTS = 50;
const CATCH_UP_MS = 20_000;

describe.each([
  ...ETCD_VERSIONS.map((version) => [version, 3] as const),
  ['3.4.23', 5] as const,
  ['3.7.3', 5] as const,
])('etcd %s, %i members', (version, count) => {
  test('form one cluster, hold what the source held, survive the loss of one, and take a learner', async () => {
    const full = await storeWithFull(dir.in('store'), version);
    const { cluster, results } = await restoredCluster(version, count, dir.path, full);
    await expectSource(cluster, results, full);
    await expectReplication(cluster, 'first', full);
    await expectSurvival(cluster, full);
    if (count === 3) await expectLearner(cluster, results, full);
  });
});

test.each(APPLIERS)('three members from a full and deltas, %s applier', async (applier) => {
  const set = 'gardener-gzip-etcd3.5';
  const truth = await sourceTruth(set);
  const { cluster, results } = await restoredCluster('3.5.35', 3, dir.path, {
    container: fixture(`${set}/store`),
    version: '3.5.35',
    applier,
  });
  await expectSource(cluster, results, truth);
  for (const endpoint of await cluster.endpoints())
    expect(await differencesFrom(truth, endpoint)).toEqual([]);
  await expectReplication(cluster, 'first', truth);
});

async function expectSource(
  cluster: TestCluster,
  results: readonly RestoreResult[],
  { revision, hash, compactRevision }: HashedState,
): Promise<void> {
  const endpoints = await cluster.endpoints();
  const statuses = await Promise.all(endpoints.map((endpoint) => endpoint.status()));
  expect(statuses.map((status) => status.clusterId.toString(16))).toEqual(
    results.map(({ ids }) => ids.clusterId),
  );
  expect(new Set(results.map(({ ids }) => ids.clusterId)).size).toBe(1);
  expect(statuses.map((status) => status.memberId.toString(16))).toEqual(
    results.map(({ ids }) => ids.memberId),
  );
  expect(new Set(statuses.map((status) => status.leaderId)).size).toBe(1);
  expect(statuses.map((status) => status.revision)).toEqual(statuses.map(() => revision));
  for (const endpoint of endpoints) {
    expect(await endpoint.hashKv(revision)).toEqual({ revision, hash, compactRevision });
    const members = await endpoint.memberList();
    expect(members.map(({ name, isLearner }) => `${name} ${isLearner}`).sort()).toEqual(
      results.map(({ cluster: { name } }) => `${name} false`).sort(),
    );
  }
}

/** Written through one, read from each. */
async function expectReplication(
  cluster: TestCluster,
  label: string,
  { compactRevision }: HashedState,
): Promise<void> {
  const endpoints = await cluster.endpoints();
  for (let at = 0; at < PUTS; at++) {
    const { kv } = endpoints[at % endpoints.length] as EtcdEndpoint;
    await kv.put({ key: Buffer.from(`${label}/${at}`), value: Buffer.from(String(at)) });
  }
  const { revision } = await (endpoints[0] as EtcdEndpoint).status();
  const hashes = await Promise.all(endpoints.map((endpoint) => hashOnceThere(endpoint, revision)));
  expect(new Set(hashes.map(({ hash }) => hash)).size).toBe(1);
  expect(hashes.every((hash) => hash.compactRevision === compactRevision)).toBe(true);
}

async function expectSurvival(cluster: TestCluster, full: HashedState): Promise<void> {
  const lost = cluster.members.at(-1);
  const first = await cluster.endpoint(0);
  await lost?.kill();
  await untilPut(first, 'while one is away');
  await lost?.start();
  await expectReplication(cluster, 'after its return', full);
}

async function expectLearner(
  cluster: TestCluster,
  results: readonly RestoreResult[],
  full: HashedState,
): Promise<void> {
  const [port] = await keptPorts(1);
  const learner = { name: 'late', peerUrl: `http://127.0.0.1:${port}` };
  const id = await cluster.addLearner(learner, results[0]?.cluster.initialCluster ?? '');
  const first = await cluster.endpoint(0);
  const shown = async () => (await first.memberList()).find((member) => member.id === id);
  expect(await shown()).toMatchObject({ isLearner: true });
  await cluster.promote(id);
  expect(await shown()).toMatchObject({ name: 'late', isLearner: false });
  await expectReplication(cluster, 'with the fourth', full);
}

/** A leader that is gone is replaced within an election. */
async function untilPut(endpoint: EtcdEndpoint, key: string): Promise<void> {
  const deadline = performance.now() + CATCH_UP_MS;
  for (;;) {
    try {
      await endpoint.kv.put({ key: Buffer.from(key), value: Buffer.from('put') });
      return;
    } catch (error) {
      if (performance.now() > deadline) throw error;
      await sleep(100);
    }
  }
}

async function hashOnceThere(endpoint: EtcdEndpoint, revision: bigint) {
  const deadline = performance.now() + CATCH_UP_MS;
  while ((await endpoint.status()).revision < revision) {
    if (performance.now() > deadline) throw new Error(`${endpoint.endpoint} does not reach ${revision}`);
    await sleep(50);
  }
  return endpoint.hashKv(revision);
}
