/** What else comes with a full: alarms (hazard 40) and users (hazard 39), on etcds of all versions. */
import { mkdir, readFile } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';
import { reportLines, reportOf } from '../../src/restorer/report.js';
import { restore } from '../../src/restorer/restore.js';
import { ETCD_VERSIONS, type EtcdVersion, etcdBinary } from '../servers/binaries.js';
import { startEtcd, type TestEtcd } from '../servers/etcd.js';
import { Backup, backupPlace } from '../snapshotter/backup.js';
import { storeFull, storeWithFull } from './members-set-up.js';
import { type RestoreChange, requestFor } from './request.js';
import { cleanUp, testDir } from './set-up.js';

const dir = testDir('members-alarms-auth');
const ROOT = { username: 'root', password: 'secret' };

async function restored(version: EtcdVersion, change: Omit<RestoreChange, 'dataDir'>) {
  const request = await requestFor({ etcdBinary: '/nowhere/etcd', ...change, dataDir: dir.in('data') });
  const report = reportLines(reportOf(request, await restore(request))).join('\n');
  const etcd = await startEtcd(version, { dataDir: dir.in('data') });
  cleanUp(() => etcd.destroy());
  return { etcd, report };
}

/** A full of an etcd without auth that raised both alarms. */
async function storeWithBothAlarms(version: EtcdVersion): Promise<string> {
  const etcd = await startEtcd(version);
  cleanUp(() => etcd.destroy());
  const endpoint = await etcd.open();
  await etcd.ctl('put', 'k', 'v');
  const { memberId, revision } = await endpoint.status();
  const [activate, noSpace, corrupt] = [1, 1, 2];
  for (const alarm of [noSpace, corrupt])
    await endpoint.maintenance.alarm({ action: activate, memberID: String(memberId), alarm });
  endpoint.close();
  await mkdir(dir.in('store'));
  await etcd.ctl('snapshot', 'save', dir.in('snapshot.db'));
  await etcd.destroy();
  await storeFull(dir.in('store'), await readFile(dir.in('snapshot.db')), revision);
  return dir.in('store');
}

async function alarmsOf(etcd: TestEtcd): Promise<string[]> {
  const listed = await etcd.ctl('alarm', 'list');
  // etcd keeps them in a map: their order is another each time.
  return [...listed.matchAll(/alarm: ?(\w+)/g)].map(([, kind]) => kind as string).sort();
}

describe.each(ETCD_VERSIONS)('etcd %s', (version) => {
  test('hazard 40: alarms stay as they are, and the report names the command that clears them', async () => {
    const { etcd, report } = await restored(version, { container: await storeWithBothAlarms(version) });
    expect(report).toContain(
      'alarm NOSPACE, CORRUPT is set, as in the full: etcd refuses writes until `etcdctl alarm disarm`',
    );
    expect(report).toContain('--clear-alarms');
    expect(await alarmsOf(etcd)).toEqual(['CORRUPT', 'NOSPACE']);
    await expect(etcd.ctl('put', 'k', 'w')).rejects.toThrow(/corrupt|space/i);
    await etcd.ctl('alarm', 'disarm');
    await etcd.ctl('put', 'k', 'w');
    await etcd.restart();
    expect(await alarmsOf(etcd)).toEqual([]);
    await etcd.ctl('put', 'k', 'x');
  });

  test('hazard 40: --clear-alarms starts without them', async () => {
    const container = await storeWithBothAlarms(version);
    const { etcd, report } = await restored(version, { container, clearAlarms: true });
    expect(report).toContain('alarm NOSPACE, CORRUPT was set in the full and is cleared');
    expect(report).not.toContain('disarm');
    expect(await alarmsOf(etcd)).toEqual([]);
    await etcd.ctl('put', 'k', 'w');
    await etcd.restart();
    expect(await alarmsOf(etcd)).toEqual([]);
    await etcd.ctl('put', 'k', 'x');
  });

  test('hazard 39: users and roles are restored without any password', async () => {
    const { container } = await storeWithFull(dir.in('store'), version, 'snapshot-auth-alarm');
    const { etcd, report } = await restored(version, { container, clearAlarms: true });
    expect(report.match(/authentication is on/g)).toHaveLength(1);
    expect(report).not.toContain('users and roles after');
    await expect(etcd.ctl('get', 'k')).rejects.toThrow(/user name is empty/);
    etcd.actAs({ ...ROOT, password: 'wrong' });
    await expect(etcd.ctl('get', 'k')).rejects.toThrow(/invalid user ID or password/);
    etcd.actAs(ROOT);
    await etcd.ctl('put', 'k', 'v');
    expect((await etcd.ctl('user', 'list')).trim().split('\n')).toEqual(['bob', 'root']);
    expect((await etcd.ctl('role', 'list')).trim().split('\n')).toEqual(['reader', 'root']);
    etcd.actAs({ username: 'bob', password: 'pw' });
    await expect(etcd.ctl('put', 'k', 'v')).rejects.toThrow(/permission denied/);
    etcd.actAs(ROOT);
    await etcd.ctl('auth', 'disable');
    etcd.actAs();
    await etcd.ctl('put', 'k', 'w');
  });
});

test('hazard 39: what was changed in users and roles after the full is in no delta, and that is said once', async () => {
  const source = await startEtcd('3.6.16');
  cleanUp(() => source.destroy());
  await source.enableAuth(ROOT.password);
  await source.ctl('put', 'before', 'full');
  const place = await backupPlace();
  cleanUp(() => place.remove());
  const backup = await Backup.start(source, place);
  cleanUp(() => backup.stop().catch(() => undefined));
  await backup.saw('full-stored');
  await source.ctl('user', 'add', 'late:pw');
  await source.ctl('role', 'add', 'night-shift');
  await source.ctl('put', 'after', 'full');
  await backup.stop();
  await source.stop();

  const { etcd, report } = await restored('3.6.16', {
    ...{ container: place.container, etcdBinary: etcdBinary('3.6.16') },
  });
  expect(report.match(/authentication is on/g)).toHaveLength(1);
  expect(report.match(/changes of users and roles after revision \d+ are not in deltas/g)).toHaveLength(1);
  await expect(etcd.ctl('get', 'after')).rejects.toThrow(/user name is empty/);
  etcd.actAs(ROOT);
  expect(await etcd.ctl('get', 'after', '--print-value-only')).toBe('full\n');
  expect((await etcd.ctl('user', 'list')).trim()).toBe('root');
  expect((await etcd.ctl('role', 'list')).trim()).toBe('');
});
