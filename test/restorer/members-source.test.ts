/** The cluster that was backed up: its learner, its removed members and its raft configuration must not come along. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { inspectDb } from '../../src/native/index.js';
import { ETCD_VERSIONS, type EtcdVersion } from '../servers/binaries.js';
import { planMembers, TestCluster } from '../servers/cluster.js';
import { keptPorts } from '../servers/ports.js';
import { readTruth, type Truth } from '../servers/truth.js';
import { restoredCluster, storeFull } from './members-set-up.js';
import { restoreFrom } from './request.js';
import { cleanUp, expectRestored, testDir } from './set-up.js';

const dir = testDir('members-source');

/** One voter and one learner; another learner was there and was removed. */
async function storeOfCluster(version: EtcdVersion): Promise<{ container: string; truth: Truth }> {
  const plan = await planMembers(1);
  const source = await TestCluster.start(version, plan, [dir.in('source')]);
  cleanUp(() => source.destroy());
  const [first] = source.members;
  const [goes, stays] = (await keptPorts(2)).map((port) => `http://127.0.0.1:${port}`);
  const initialCluster = plan[0]?.initialCluster ?? '';
  const removed = await source.addLearner({ name: 'goes', peerUrl: goes as string }, initialCluster);
  await first?.ctl('member', 'remove', removed.toString(16));
  await source.addLearner({ name: 'stays', peerUrl: stays as string }, initialCluster);
  await first?.ctl('put', 'k', 'v');
  const truth = await readTruth(await source.endpoint(0));
  await first?.ctl('snapshot', 'save', dir.in('snapshot.db'));
  await source.destroy();
  await storeFull(dir.in('store'), await readFile(dir.in('snapshot.db')), truth.revision);
  return { container: dir.in('store'), truth };
}

test.each(ETCD_VERSIONS)('only the new members are in it, etcd %s', async (version) => {
  const { container, truth } = await storeOfCluster(version);
  const alone = await restoreFrom({ container, dataDir: dir.in('alone') });
  expect(alone.base.info.members.map(({ name, isLearner }) => `${name} ${isLearner}`).sort()).toEqual([
    'm1 false',
    'stays true',
  ]);
  const { members } = await inspectDb(join(dir.in('alone'), 'member', 'snap', 'db'));
  expect(members).toMatchObject([{ name: 'default', isLearner: false }]);
  await expectRestored(version, dir.in('alone'), truth);

  const { cluster } = await restoredCluster(version, 3, dir.path, { container });
  for (const endpoint of await cluster.endpoints()) {
    const list = await endpoint.memberList();
    expect(list.map(({ name, isLearner }) => `${name} ${isLearner}`).sort()).toEqual([
      'm1 false',
      'm2 false',
      'm3 false',
    ]);
    expect(await endpoint.hashKv(truth.revision)).toEqual(truth.hash);
  }
  await cluster.members[0]?.ctl('put', 'k', 'w');
});
