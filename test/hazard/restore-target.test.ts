/** The directory that is restored into: taken, newer, half there, a mount point (hazards 14, 29, 30, 41, 46 and R7). */
import { execFileSync } from 'node:child_process';
import {
  chmod,
  chown,
  copyFile,
  lstat,
  mkdir,
  readdir,
  readFile,
  rename,
  rm,
  stat,
  symlink,
  writeFile,
} from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { BackupError } from '../../src/errors.js';
import { FileLock, inspectDb } from '../../src/native/index.js';
import { restore } from '../../src/restorer/restore.js';
import { fixture, type Heard, requestFor, restoreFrom } from '../restorer/request.js';
import { cleanUp, expectOnly, testDir } from '../restorer/set-up.js';
import { SMALL_SET_REVISION } from '../restorer/small-set.js';
import { etcdBinary } from '../servers/binaries.js';
import { startEtcd } from '../servers/etcd.js';
import { FaultyStore } from '../store/faulty.js';

const dir = testDir('target');
const version = '3.4.23';
const set = fixture('gardener-plain-etcd3.4/store');
const newerSet = fixture('gardener-gzip-etcd3.5/store');
/** renameat2 without EXCHANGE, as on some network file systems. */
const noExchange = () => {
  throw new BackupError('UNSUPPORTED', 'no exchange here');
};

function into(dataDir: string, change: object = {}, heard?: Heard) {
  return restoreFrom({ container: set, dataDir, version, ...change }, heard);
}

describe('R7: the old directory', () => {
  test.each([
    ['exchange', undefined],
    ['two renames', noExchange],
  ] as const)('is kept whole, owner and modes as they were (%s)', async (_, exchange) => {
    const dataDir = dir.in('data');
    await into(dataDir);
    await chown(dataDir, 1234, 1235);
    await chmod(dataDir, 0o750);
    await writeFile(join(dataDir, 'member', 'of-the-old'), 'x');
    const { before } = await into(dataDir, exchange === undefined ? {} : { exchange });
    expect(before).toMatch(/data\.before-\d+$/);
    expect(await readFile(join(before as string, 'member/of-the-old'), 'utf8')).toBe('x');
    const [now, db] = [await stat(dataDir), await stat(join(dataDir, 'member/snap/db'))];
    expect([now.uid, now.gid, now.mode & 0o777, db.uid]).toEqual([1234, 1235, 0o750, 1234]);
    expect(await readdir(join(dataDir, 'member'))).not.toContain('of-the-old');
    await expectOnly(dir.path, 'data', (before as string).slice(dir.path.length + 1));
  });

  test('a mount point: the member is exchanged inside it, other things stay', async () => {
    const dataDir = dir.in('mnt');
    await mkdir(dataDir);
    execFileSync('mount', ['-t', 'tmpfs', 'etcdbr-test', dataDir]);
    cleanUp(() => execFileSync('umount', [dataDir]));
    await mkdir(join(dataDir, 'lost+found'));
    await into(dataDir);
    await expectOnly(dataDir, 'etcdbr-restored.json', 'lost+found', 'member');
    const { before } = await into(dataDir);
    expect(before?.startsWith(join(dataDir, 'member.before-'))).toBe(true);
    await expectOnly(
      dataDir,
      'etcdbr-restored.json',
      'lost+found',
      'member',
      (before as string).slice(dataDir.length + 1),
    );
    await expectOnly(dir.path, 'mnt');
    const etcd = await startEtcd(version, { dataDir });
    await etcd.destroy();
  });

  test('a mount point of another user: his etcd starts on it, and his backups can read the mark', async () => {
    const user = { uid: 1234, gid: 1235 };
    const dataDir = dir.in('mnt');
    await chmod(dir.path, 0o755);
    await mkdir(dataDir);
    const options = `uid=${user.uid},gid=${user.gid},mode=0750`;
    execFileSync('mount', ['-t', 'tmpfs', '-o', options, 'etcdbr-test', dataDir]);
    cleanUp(() => execFileSync('umount', [dataDir]));
    const binary = dir.in('etcd');
    await copyFile(etcdBinary(version), binary);
    for (const round of ['first', 'second']) {
      await into(dataDir, { replaceNewer: true });
      for (const name of ['etcdbr-restored.json', 'member', 'member/snap/db', 'member/wal']) {
        const { uid, gid } = await stat(join(dataDir, name));
        expect([name, uid, gid]).toEqual([name, user.uid, user.gid]);
      }
      expect((await stat(dataDir)).mode & 0o777).toBe(0o750);
      const etcd = await startEtcd(version, { dataDir, as: { ...user, binary } });
      try {
        expect(await etcd.ctl('put', 'round', round)).toBe('OK\n');
      } finally {
        await etcd.destroy();
      }
    }
  });

  test('hazard 41: of a running etcd is refused, and the holder named', async () => {
    const dataDir = dir.in('data');
    await into(dataDir);
    const etcd = await startEtcd('3.6.16', { dataDir });
    await expect(into(dataDir)).rejects.toMatchObject({
      code: 'LOCKED',
      message: expect.stringContaining(String(etcd.pid)),
    });
    await etcd.stop();
    const lock = FileLock.acquire(join(dataDir, 'member/snap/db'));
    await expect(into(dataDir, { replaceNewer: true })).rejects.toMatchObject({ code: 'LOCKED' });
    lock.release();
    await into(dataDir, { replaceNewer: true });
    await etcd.destroy();
  });

  test('that is newer than the backup stays, unless --replace-newer', async () => {
    const dataDir = dir.in('data');
    await restoreFrom({ container: newerSet, dataDir, version: '3.5.35' });
    await expect(into(dataDir)).rejects.toMatchObject({
      code: 'STALE',
      message: expect.stringMatching(/revision 2989.*revision 2981/),
      hint: expect.stringContaining('--replace-newer'),
    });
    await expectOnly(dir.path, 'data');
    await into(dataDir, { replaceNewer: true });
    expect((await inspectDb(join(dataDir, 'member/snap/db'))).revision).toBe(SMALL_SET_REVISION);
  });

  test('whose database is damaged is replaced, with a warning', async () => {
    const dataDir = dir.in('data');
    await into(dataDir);
    await writeFile(join(dataDir, 'member/snap/db'), Buffer.alloc(8192, 9));
    const heard: Heard = { warnings: [], infos: [] };
    await into(dataDir, {}, heard);
    expect(heard.warnings.join()).toContain('cannot be read');
  });
});

describe('hazard 29: what lies in the way', () => {
  test('the old WAL in a directory of its own is not mixed with the new member', async () => {
    const dataDir = dir.in('data');
    await into(dataDir);
    await rename(join(dataDir, 'member/wal'), dir.in('wal'));
    await expect(into(dataDir)).rejects.toMatchObject({
      code: 'USAGE',
      hint: expect.stringContaining('--wal-dir'),
    });
  });

  test('a directory that is no etcd is refused, and left alone', async () => {
    await mkdir(dir.in('data'));
    await writeFile(dir.in('data/letter.txt'), 'dear');
    await expect(into(dir.in('data'))).rejects.toMatchObject({
      code: 'USAGE',
      message: expect.stringContaining('letter.txt'),
    });
    await writeFile(dir.in('file'), '');
    await expect(into(dir.in('file'))).rejects.toMatchObject({ code: 'USAGE' });
  });

  test('a .part of somebody else is refused; one of a restore that runs too; one of a dead one goes', async () => {
    const dataDir = dir.in('data');
    await mkdir(dir.in('data.part'));
    await writeFile(dir.in('data.part/theirs'), '');
    await expect(into(dataDir)).rejects.toMatchObject({ code: 'EXISTS', object: dir.in('data.part') });
    await rm(dir.in('data.part/theirs'));
    await writeFile(dir.in('data.part/etcdbr-restore.lock'), '');
    await mkdir(dir.in('data.part/work'));
    const lock = FileLock.acquire(dir.in('data.part/etcdbr-restore.lock'));
    await expect(into(dataDir)).rejects.toMatchObject({ code: 'LOCKED' });
    lock.release();
    await into(dataDir);
    await expectOnly(dir.path, 'data');
  });

  test('an empty directory, a missing parent and a link are used', async () => {
    await mkdir(dir.in('empty'));
    await into(dir.in('empty'));
    await into(dir.in('a/b/c'));
    await symlink(dir.in('empty'), dir.in('link'));
    const { target } = await into(dir.in('link'));
    expect(target.dataDir).toBe(dir.in('empty'));
    expect((await lstat(dir.in('link'))).isSymbolicLink()).toBe(true);
  });
});

test('hazard 14: a store that is away never costs the directory', async () => {
  const dataDir = dir.in('data');
  await into(dataDir);
  const request = await requestFor({ container: set, dataDir, version });
  const store = new FaultyStore(request.store, [
    { on: 'any', fault: { kind: 'error', code: 'UNAVAILABLE' } },
  ]);
  await expect(restore({ ...request, store })).rejects.toMatchObject({ code: 'UNAVAILABLE' });
  const empty = await requestFor({ container: dir.in('nothing-here'), dataDir });
  await expect(restore(empty)).rejects.toMatchObject({ code: 'NOTHING_TO_RESTORE' });
  expect((await inspectDb(join(dataDir, 'member/snap/db'))).revision).toBe(SMALL_SET_REVISION);
  await expectOnly(dir.path, 'data');
});

test('hazard 30: what was restored is said in full, and the mark names it for later backups', async () => {
  const heard: Heard = { warnings: [], infos: [] };
  const result = await into(dir.in('data'), {}, heard);
  expect(heard.infos.join()).toContain(dir.in('data'));
  expect(result.proof.liveKeys).toBeGreaterThan(0);
  const mark = JSON.parse(await readFile(dir.in('data/etcdbr-restored.json'), 'utf8'));
  expect(mark).toMatchObject({ base: result.base.object.name.text, revision: '2981' });
});

test('several members: each directory is made from one set, for one cluster', async () => {
  const initialCluster = 'm1=http://127.0.0.1:1,m2=http://127.0.0.1:2';
  const advertise = (port: number) => [`http://127.0.0.1:${port}`];
  const one = await into(dir.in('m1'), { name: 'm1', initialCluster, advertisePeerUrls: advertise(1) });
  const two = await into(dir.in('m2'), { name: 'm2', initialCluster, advertisePeerUrls: advertise(2) });
  expect(one.ids.clusterId).toBe(two.ids.clusterId);
  expect(one.ids.memberId).not.toBe(two.ids.memberId);
  const wrong = into(dir.in('m3'), { name: 'm3', initialCluster });
  await expect(wrong).rejects.toMatchObject({
    code: 'USAGE',
    object: expect.stringContaining('--initial-cluster'),
  });
  const urls = into(dir.in('m3'), { name: 'm1', initialCluster });
  await expect(urls).rejects.toMatchObject({
    code: 'USAGE',
    object: expect.stringContaining('--initial-advertise-peer-urls'),
  });
});

test('a target whose file system is full is refused before anything is fetched', async () => {
  const dataDir = dir.in('tiny/data');
  await mkdir(dir.in('tiny'));
  execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=128k', 'etcdbr-test', dir.in('tiny')]);
  cleanUp(() => execFileSync('umount', [dir.in('tiny')]));
  await expect(into(dataDir)).rejects.toMatchObject({ code: 'NO_SPACE' });
  await expectOnly(dir.in('tiny'));
});
