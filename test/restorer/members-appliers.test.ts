/** Everything that seats a member, at once and behind deltas: both appliers make the same of it. */
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { inspectDb } from '../../src/native/index.js';
import { reportLines, reportOf } from '../../src/restorer/report.js';
import { restore } from '../../src/restorer/restore.js';
import { etcdBinary } from '../servers/binaries.js';
import { startEtcd } from '../servers/etcd.js';
import { readKeys, readTruth } from '../servers/truth.js';
import { Backup, backupPlace } from '../snapshotter/backup.js';
import { APPLIERS, requestFor } from './request.js';
import { cleanUp, testDir } from './set-up.js';

const dir = testDir('members-appliers');
const BUMP = 1_000_000;

/** An etcd 3.7 whose full holds an alarm, and whose deltas hold puts on a lease that they granted. */
async function backedUp() {
  const source = await startEtcd('3.7.3');
  cleanUp(() => source.destroy());
  const endpoint = await source.open();
  cleanUp(() => endpoint.close());
  await source.ctl('put', 'in-the-full', 'v');
  const { memberId } = await endpoint.status();
  const [activate, noSpace] = [1, 1];
  await endpoint.maintenance.alarm({ action: activate, memberID: String(memberId), alarm: noSpace });
  const place = await backupPlace();
  cleanUp(() => place.remove());
  const backup = await Backup.start(source, place);
  cleanUp(() => backup.stop().catch(() => undefined));
  await backup.saw('full-stored');
  await source.ctl('alarm', 'disarm');
  const { ID } = await endpoint.lease.leaseGrant({ TTL: '5000', ID: '4711' });
  for (let at = 0; at < 20; at++)
    await endpoint.kv.put({ key: Buffer.from(`in-deltas/${at}`), value: Buffer.from('v'), lease: ID });
  await endpoint.kv.deleteRange({ key: Buffer.from('in-deltas/7') });
  await backup.stop();
  return { container: place.container, truth: await readTruth(endpoint) };
}

test.each(APPLIERS)('with the %s applier', async (applier) => {
  const { container, truth } = await backedUp();
  const request = await requestFor({
    ...{ container, applier, dataDir: dir.in('data'), etcdBinary: etcdBinary('3.7.3') },
    ...{ bumpRevision: BUMP, clearAlarms: true, etcdVersion: '3.6' },
  });
  const report = reportOf(request, await restore(request));
  const raised = truth.revision + BigInt(BUMP);
  expect(report).toMatchObject({ revision: truth.revision, raisedRevision: raised, etcdVersion: '3.6' });
  expect(report.deltas).toBeGreaterThan(0);
  expect(reportLines(report).join('\n')).toContain('alarm NOSPACE was set in the full and is cleared');
  const db = await inspectDb(join(dir.in('data'), 'member', 'snap', 'db'));
  expect(db).toMatchObject({ alarms: [], storageVersion: null, revision: raised, leases: 1 });

  const etcd = await startEtcd('3.6.16', { dataDir: dir.in('data') });
  cleanUp(() => etcd.destroy());
  const endpoint = await etcd.open();
  cleanUp(() => endpoint.close());
  expect((await endpoint.status()).revision).toBe(raised);
  expect(await readKeys(endpoint, raised)).toEqual(truth.keys);
  expect(await endpoint.leaseGrantedTtlSeconds(4711n)).toBe(5000n);
  await etcd.ctl('put', 'after', 'v');
  expect((await endpoint.status()).revision).toBe(raised + 1n);
});
