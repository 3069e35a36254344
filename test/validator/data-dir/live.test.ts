/** Directories that real etcds left behind, in order and not: the verdict is what that etcd then makes of a copy. */
import { cp, readdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { fixture, restoreFrom } from '../../restorer/request.js';
import { cleanUp, testDir } from '../../restorer/set-up.js';
import { ETCD_VERSIONS, type EtcdVersion, etcdBinary } from '../../servers/binaries.js';
import { type EtcdOptions, restoreByTool, startEtcd, type TestEtcd } from '../../servers/etcd.js';
import { removeTempDir } from '../../servers/process.js';
import { storeAt, write, writeUntil } from './load.js';
import { damageMiddle, etcdOnCopy, judge, walFiles } from './set-up.js';

const dir = testDir('data-dir-live');
const LOAD_MS = 900;

async function started(version: EtcdVersion, options: EtcdOptions = {}): Promise<TestEtcd> {
  const etcd = await startEtcd(version, options);
  cleanUp(() => etcd.destroy());
  return etcd;
}

/** kill -9 in the middle of writes. */
async function killUnderLoad(etcd: TestEtcd, loadMs = LOAD_MS): Promise<void> {
  const endpoint = await etcd.open();
  const stop = new AbortController();
  const writing = writeUntil(endpoint, stop.signal);
  await sleep(loadMs);
  await etcd.kill();
  stop.abort();
  await writing;
  endpoint.close();
}

async function emptyStore(revision: bigint): Promise<string> {
  const container = await storeAt(revision);
  cleanUp(() => removeTempDir(container));
  return container;
}

describe.each(ETCD_VERSIONS)('etcd %s', (version) => {
  it('stopped in order: the database says it all', async () => {
    const etcd = await started(version);
    const endpoint = await etcd.open();
    for (let number = 0; number < 100; number++) await write(endpoint, number);
    const { revision, memberId, clusterId, raftTerm } = await endpoint.status();
    endpoint.close();
    await etcd.stop();
    const verdict = await judge(etcd.dataDir);
    expect(verdict).toMatchObject({ verdict: 'ok', notes: [] });
    expect(verdict.revision).toEqual({ database: revision, least: revision, most: revision });
    expect(verdict.wal).toMatchObject({
      ...{ memberId: memberId.toString(16), clusterId: clusterId.toString(16), lastTerm: raftTerm },
    });
  });

  it('killed under load: the bounds hold what it has after a restart, and a replay in a copy finds it', async () => {
    const etcd = await started(version, { flags: ['--snapshot-count', '500'] });
    await killUnderLoad(etcd);
    const truth = await etcdOnCopy(version, etcd.dataDir);
    const verdict = await judge(etcd.dataDir);
    expect(verdict).toMatchObject({ verdict: 'ok', problems: [] });
    const { least, most } = verdict.revision as { least: bigint; most: bigint };
    expect(truth).toEqual(expect.any(BigInt));
    expect(least).toBeLessThanOrEqual(truth as bigint);
    expect(most).toBeGreaterThanOrEqual(truth as bigint);
    expect(most).toBeGreaterThan(least);
    await expectDecided(etcd.dataDir, { version, truth: truth as bigint, least, most });
  });

  it('after many WAL segments and raft snapshots', async () => {
    const etcd = await started(version, { flags: ['--snapshot-count', '60'] });
    const endpoint = await etcd.open();
    const value = Buffer.alloc(1_200_000, 7);
    for (let number = 0; number < 130; number++)
      await endpoint.kv.put({ key: Buffer.from(`/big/${number % 10}`), value });
    endpoint.close();
    await killUnderLoad(etcd, 300);
    expect((await walFiles(etcd.dataDir)).length).toBeGreaterThan(2);
    const truth = await etcdOnCopy(version, etcd.dataDir);
    const verdict = await judge(etcd.dataDir);
    expect(verdict).toMatchObject({ verdict: 'ok', problems: [] });
    expect(verdict.wal?.snapshotIndex).toBeGreaterThan(60n);
    expect(verdict.revision?.least).toBeLessThanOrEqual(truth as bigint);
    expect(verdict.revision?.most).toBeGreaterThanOrEqual(truth as bigint);
  });

  it('with auth on: a replay needs no password', async () => {
    const etcd = await started(version);
    await etcd.enableAuth();
    const endpoint = await etcd.open();
    for (let number = 0; number < 50; number++) await write(endpoint, number);
    await sleep(300);
    for (let number = 50; number < 70; number++) await write(endpoint, number);
    const { revision } = await endpoint.status();
    await etcd.kill();
    endpoint.close();
    const sound = { container: await emptyStore(revision), etcdBinary: etcdBinary(version) };
    expect(await judge(etcd.dataDir, sound)).toMatchObject({ verdict: 'ok' });
    const behind = { ...sound, container: await emptyStore(revision + 1n) };
    expect(await judge(etcd.dataDir, behind)).toMatchObject({ verdict: 'behind the store' });
  });

  it('a directory restored by its tool and by ours is ok, before and after its first start', async () => {
    const container = fixture('gardener-plain-etcd3.4/store');
    const ours = dir.in('ours');
    await restoreFrom({ container, dataDir: ours, version });
    const theirs = dir.in('theirs');
    await restoreByTool(version, await snapshotOf(version), theirs);
    for (const dataDir of [ours, theirs]) {
      expect(await judge(dataDir)).toMatchObject({ verdict: 'ok', notes: [] });
      const etcd = await started(version, { dataDir });
      await etcd.stop();
      expect(await judge(dataDir)).toMatchObject({ verdict: 'ok', notes: [] });
    }
    expect(await judge(ours, { container })).toMatchObject({ verdict: 'ok' });
  });

  it('an older database put in its place is found out', async () => {
    const etcd = await started(version, { flags: ['--snapshot-count', '100'] });
    const endpoint = await etcd.open();
    for (let number = 0; number < 50; number++) await write(endpoint, number);
    endpoint.close();
    await etcd.stop();
    const db = join(etcd.dataDir, 'member', 'snap', 'db');
    await cp(db, dir.in('old.db'));
    await etcd.start();
    const again = await etcd.open();
    for (let number = 0; number < 400; number++) await write(again, number);
    const { revision } = await again.status();
    again.close();
    await etcd.stop();
    await cp(dir.in('old.db'), db);
    const verdict = await judge(etcd.dataDir, { container: await emptyStore(revision) });
    expect(verdict).toMatchObject({ verdict: 'damaged', consequence: 'restore' });
    expect(verdict.problems[0]).toMatch(/the raft snapshot at \d+: it is an older one/);
    expect(await etcdOnCopy(version, etcd.dataDir)).toBe('refuses');
  });

  it('damage in the middle, a missing first file, missing raft snapshots: as etcd takes them', async () => {
    const etcd = await started(version, { flags: ['--snapshot-count', '60'] });
    const endpoint = await etcd.open();
    for (let number = 0; number < 200; number++) await write(endpoint, number);
    endpoint.close();
    await etcd.stop();
    const snapDir = join(etcd.dataDir, 'member', 'snap');
    const [wal = ''] = await walFiles(etcd.dataDir);
    await cp(wal, dir.in('wal'));

    await damageMiddle(wal);
    expect(await judge(etcd.dataDir)).toMatchObject({ verdict: 'damaged' });
    expect(await etcdOnCopy(version, etcd.dataDir)).toBe('refuses');
    await cp(dir.in('wal'), wal);

    for (const name of (await readdir(snapDir)).filter((one) => one.endsWith('.snap')))
      await rm(join(snapDir, name));
    const all = await judge(etcd.dataDir);
    expect(all).toMatchObject({ verdict: 'ok' });
    expect(all.notes.join()).toMatch(version === '3.7.3' ? /^$/ : /no raft snapshot file fits the WAL/);
    expect(await etcdOnCopy(version, etcd.dataDir)).not.toBe('refuses');

    await rename(wal, wal.replace(/0000000000000000-0000000000000000/, '0000000000000001-0000000000000fff'));
    expect(await judge(etcd.dataDir)).toMatchObject({ verdict: 'damaged' });
    expect(await etcdOnCopy(version, etcd.dataDir)).toBe('refuses');
  });
});

it("another member's WAL beside a database", async () => {
  const [one, other] = [await started('3.6.16'), await started('3.6.16')];
  for (const etcd of [one, other]) await etcd.stop();
  const wal = (etcd: TestEtcd) => join(etcd.dataDir, 'member', 'wal');
  await rm(wal(one), { recursive: true });
  await cp(wal(other), wal(one), { recursive: true });
  const verdict = await judge(one.dataDir);
  expect(verdict.verdict).toBe('damaged');
  expect(verdict.problems.join('\n')).toContain('of different clusters or members');
});

it('hazard 41: a running etcd is named as the holder of the lock', async () => {
  const etcd = await started('3.5.35');
  await expect(judge(etcd.dataDir)).rejects.toMatchObject({
    code: 'LOCKED',
    message: expect.stringContaining(`process ${etcd.pid}`),
    hint: expect.stringContaining('stop it'),
  });
});

async function snapshotOf(version: EtcdVersion): Promise<string> {
  const etcd = await started(version);
  const endpoint = await etcd.open();
  for (let number = 0; number < 30; number++) await write(endpoint, number);
  endpoint.close();
  const path = dir.in('snapshot.db');
  await etcd.ctl('snapshot', 'save', path);
  await etcd.stop();
  return path;
}

interface Known {
  readonly version: EtcdVersion;
  readonly truth: bigint;
  readonly least: bigint;
  readonly most: bigint;
}

/** At each place between and beside the bounds. */
async function expectDecided(dataDir: string, { version, truth, least, most }: Known): Promise<void> {
  const at = async (revision: bigint, binary?: string) => {
    const { verdict } = await judge(dataDir, { container: await emptyStore(revision), etcdBinary: binary });
    return verdict;
  };
  const binary = etcdBinary(version);
  expect(await at(least)).toBe('ok');
  expect(await at(most + 1n)).toBe('behind the store');
  expect(await at(most)).toBe('cannot be decided');
  expect(await at(truth, binary)).toBe('ok');
  expect(await at(truth + 1n, binary)).toBe('behind the store');
}
