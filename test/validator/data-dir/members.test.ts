/** A member of three: what it lacks it gets from its leader, what is damaged is not restored but joins anew. */
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { cleanUp, testDir } from '../../restorer/set-up.js';
import { ETCD_VERSIONS } from '../../servers/binaries.js';
import { planMembers, TestCluster } from '../../servers/cluster.js';
import { removeTempDir } from '../../servers/process.js';
import { storeAt, write, writeUntil } from './load.js';
import { damageMiddle, judge, walFiles } from './set-up.js';

const dir = testDir('data-dir-members');

it.each(ETCD_VERSIONS)('etcd %s: three members killed under load', async (version) => {
  const plan = await planMembers(3);
  const dirs = plan.map(({ name }) => join(dir.path, name));
  const cluster = await TestCluster.start(version, plan, dirs);
  cleanUp(() => cluster.destroy());
  const endpoint = await cluster.endpoint(0);
  for (let number = 0; number < 50; number++) await write(endpoint, number);
  const { clusterId } = await endpoint.status();
  const stop = new AbortController();
  const writing = writeUntil(endpoint, stop.signal);
  await sleep(500);
  for (const member of cluster.members) await member.kill();
  stop.abort();
  await writing;

  const verdicts = await Promise.all(dirs.map((dataDir) => judge(dataDir)));
  expect(new Set(verdicts.map(({ wal }) => wal?.memberId)).size).toBe(3);
  for (const verdict of verdicts) {
    expect(verdict).toMatchObject({
      verdict: 'ok',
      problems: [],
      wal: { clusterId: clusterId.toString(16) },
    });
  }
  const ahead = await storeAt(1_000_000n);
  cleanUp(() => removeTempDir(ahead));
  const [first = ''] = dirs;
  const behind = await judge(first, { container: ahead });
  expect(behind).toMatchObject({ verdict: 'ok', consequence: 'start' });
  expect(behind.notes.join('\n')).toContain('a member of 3 gets what it lacks from its leader');

  const [wal = ''] = await walFiles(first);
  await damageMiddle(wal);
  expect(await judge(first, { container: ahead })).toMatchObject({
    ...{ verdict: 'damaged', status: 'InvalidInMultiNode', consequence: 'rejoin' },
  });
});
