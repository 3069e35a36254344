/** What is said after a restore (hazards 30, 39, 40), and what is refused before one. */
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { checkReadable } from '../../src/restorer/replay-version.js';
import { reportLines, reportOf } from '../../src/restorer/report.js';
import { restore } from '../../src/restorer/restore.js';
import { fixture, requestFor } from './request.js';
import { testDir } from './set-up.js';

const dir = testDir('report');

test('auth and alarms that come with the full are named; nothing that is needed to start is left out', async () => {
  await mkdir(dir.in('store/v2'), { recursive: true });
  const db = gunzipSync(await readFile(fixture('etcd-3.6/snapshot-auth-alarm.db.gz')));
  await writeFile(join(dir.in('store/v2'), 'Full-00000000-00001000-1700000000'), db);
  const request = await requestFor({ container: dir.in('store'), dataDir: dir.in('data') });
  const report = reportOf(request, await restore(request));
  const text = reportLines(report).join('\n');
  expect(text).toContain('authentication is on, as in the full');
  expect(text).toContain('alarm NOSPACE is set');
  expect(text).toContain('etcdctl alarm disarm');
  expect(text).toContain('Last event: 2023-11-14T22:13:20Z');
  expect(report.command).toBe(
    `etcd --name default --data-dir ${dir.in('data')} --initial-cluster default=http://localhost:2380 ` +
      '--initial-cluster-token etcd-cluster --initial-advertise-peer-urls http://localhost:2380 --listen-peer-urls http://localhost:2380',
  );
});

test('an etcd replays on a base of its own version or an older one', () => {
  const binary = { path: 'etcd', version: '3.6.16', unsafeNoFsync: true };
  checkReadable({ storageVersion: '3.6.0', clusterVersion: '3.5.0' }, binary);
  checkReadable({ storageVersion: null, clusterVersion: null }, binary);
  expect(() => checkReadable({ storageVersion: null, clusterVersion: '3.7.0' }, binary)).toThrow(
    /written by an etcd 3\.7/,
  );
  expect(() => checkReadable({ storageVersion: '3.10.0', clusterVersion: '3.6.0' }, binary)).toThrow(
    /etcd 3\.10/,
  );
});
