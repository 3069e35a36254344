import { spawn } from 'node:child_process';
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import protobuf from 'protobufjs';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type EmbeddedEtcd, type EmbeddedOptions, startEmbedded } from '../../src/etcd/embedded.js';
import { EtcdEndpoint } from '../../src/etcd/endpoint.js';
import { probeEtcdBinary } from '../../src/etcd/etcd-binary.js';
import { ETCD_VERSIONS, type EtcdVersion, etcdBinary } from '../servers/binaries.js';
import { restoreByTool, startEtcd } from '../servers/etcd.js';
import { exited, removeTempDir, tempDir } from '../servers/process.js';

let dir: string;
beforeEach(() => {
  dir = tempDir('embedded');
});
afterEach(() => removeTempDir(dir));

async function start(version: EtcdVersion, change: Partial<EmbeddedOptions> = {}): Promise<EmbeddedEtcd> {
  const workParent = join(dir, 'work');
  await mkdir(workParent, { recursive: true });
  return startEmbedded({
    binary: await probeEtcdBinary(etcdBinary(version)),
    dataDir: join(dir, 'data'),
    workParent,
    quotaBytes: 8 * 2 ** 30,
    maxRequestBytes: 64 * 2 ** 20,
    maxTxnOps: 20_000,
    readyTimeoutMs: 30_000,
    ...change,
  });
}

async function restoreFixture(version: EtcdVersion): Promise<bigint> {
  const fixture = new URL(`../fixtures/etcd-${version.slice(0, 3)}/`, import.meta.url);
  const snapshot = join(dir, 'snapshot.db');
  await writeFile(snapshot, gunzipSync(await readFile(new URL('snapshot.db.gz', fixture))));
  await restoreByTool(version, snapshot, join(dir, 'data'));
  const hash = JSON.parse(await readFile(new URL('hashkv.json', fixture), 'utf8'));
  return BigInt(hash[0].HashKV.header.revision);
}

async function currentRevision(etcd: EmbeddedEtcd): Promise<bigint> {
  const endpoint = await EtcdEndpoint.open(etcd.connection, etcd.connection.endpoints[0] as string);
  const { revision } = await endpoint.status();
  endpoint.close();
  return revision;
}

describe.each(ETCD_VERSIONS)('embedded etcd %s', (version) => {
  test('starts from a base, takes transactions in flight and leases, leaves a directory that etcd opens', async () => {
    const base = await restoreFixture(version);
    const etcd = await start(version);
    expect(etcd.version).toBe(version);
    expect(await currentRevision(etcd)).toBe(base);
    await etcd.grantLease(0x7ffffffffffffff3n, 5_000n);
    const keys = Array.from({ length: 500 }, (_, at) => `replayed/${at}`);
    const outcomes = await Promise.all(keys.map((key) => etcd.txn(putTxn([key], Buffer.from(key)))));
    expect(outcomes.every((outcome) => outcome.succeeded)).toBe(true);
    expect(new Set(outcomes.map((outcome) => outcome.revision)).size).toBe(500);
    expect(await etcd.peakRssBytes()).toBeGreaterThan(10_000_000);
    await etcd.stop();
    expect(await readdir(join(dir, 'work'))).toEqual([]);

    const opened = await startEtcd(version, { dataDir: join(dir, 'data') });
    const endpoint = await opened.open();
    expect((await endpoint.status()).revision).toBe(base + 500n);
    expect(await endpoint.leaseGrantedTtlSeconds(0x7ffffffffffffff3n)).toBe(5_000n);
    endpoint.close();
    await opened.destroy();
  });

  test('takes a transaction of 10,000 operations, one of 50 MB, and says when a compare failed', async () => {
    const etcd = await start(version, { maxProcs: 1 });
    const many = Array.from({ length: 10_000 }, (_, at) => `many/${at}`);
    expect(await etcd.txn(putTxn(many, Buffer.from('v')))).toEqual({ revision: 2n, succeeded: true });
    const large = Array.from({ length: 50 }, (_, at) => `large/${at}`);
    expect(await etcd.txn(putTxn(large, Buffer.alloc(1_000_000)))).toEqual({ revision: 3n, succeeded: true });
    const guarded = putTxn(['guarded'], Buffer.from('v'), { key: 'many/0', modRevision: 99 });
    expect(await etcd.txn(guarded)).toEqual({ revision: 3n, succeeded: false });
    await etcd.stop();
  });

  test('dies with its parent, killed or not', async () => {
    expect(await afterKillOfParent(version, process.env.PATH ?? '')).toBe('gone');
  });
});

describe('embedded etcd', () => {
  test('dies with its parent where setpriv is missing', async () => {
    expect(await afterKillOfParent('3.6.16', dir)).toBe('gone');
  });

  test('works where the temp dir has a long name', async () => {
    const workParent = join(dir, 'x'.repeat(120));
    await mkdir(workParent);
    const etcd = await start('3.6.16', { workParent });
    expect(await etcd.txn(putTxn(['k'], Buffer.from('v')))).toEqual({ revision: 2n, succeeded: true });
    await etcd.stop();
    expect(await readdir(workParent)).toEqual([]);
  });

  test('killed with its parent where the temp dir has a long name, it leaves nothing elsewhere', async () => {
    const workParent = join(dir, 'x'.repeat(120));
    await mkdir(workParent);
    const others = new Set(await ourTempDirs());
    expect(await afterKillOfParent('3.6.16', process.env.PATH ?? '', workParent)).toBe('gone');
    expect((await ourTempDirs()).filter((name) => !others.has(name))).toEqual([]);
  });

  test('variables of the etcd on this machine are not for ours', async () => {
    process.env.ETCD_LISTEN_METRICS_URLS = 'http://203.0.113.1:1';
    try {
      await (await start('3.6.16')).stop();
    } finally {
      delete process.env.ETCD_LISTEN_METRICS_URLS;
    }
  });

  test('that cannot start says why, and leaves nothing', async () => {
    await mkdir(join(dir, 'data/member/snap'), { recursive: true });
    await writeFile(join(dir, 'data/member/snap/db'), Buffer.alloc(50_000, 7));
    const failing = start('3.5.35');
    await expect(failing).rejects.toMatchObject({
      code: 'IO',
      message: expect.stringMatching(/ended .*last lines:\n.*\S/s),
    });
    expect(await readdir(join(dir, 'work'))).toEqual([]);
  });

  test('that is killed in the middle fails the transaction with its last lines, and stop too', async () => {
    const etcd = await start('3.6.16');
    process.kill(etcd.pid as number, 'SIGKILL');
    await expect(etcd.txn(putTxn(['k'], Buffer.from('v')))).rejects.toMatchObject({ code: 'IO' });
    await expect(etcd.stop()).rejects.toMatchObject({ code: 'IO' });
    expect(await readdir(join(dir, 'work'))).toEqual([]);
  });

  test('a binary that is missing or is no etcd is said', async () => {
    await expect(probeEtcdBinary('/nowhere/etcd')).rejects.toMatchObject({ code: 'NOT_FOUND' });
    await expect(probeEtcdBinary('/bin/echo')).rejects.toMatchObject({ code: 'UNSUPPORTED' });
    await expect(probeEtcdBinary('/bin/false')).rejects.toMatchObject({ code: 'UNSUPPORTED' });
  });

  test('an abort while it starts ends it', async () => {
    const signal = AbortSignal.timeout(30);
    await expect(start('3.6.16', { signal })).rejects.toBeDefined();
    expect(await readdir(join(dir, 'work'))).toEqual([]);
  });
});

/** Starts an embedded etcd in another process, kills that with -9, and says what became of the etcd. */
async function afterKillOfParent(
  version: EtcdVersion,
  path: string,
  workParent = dir,
): Promise<'gone' | 'alive'> {
  const script = new URL('embedded-parent.ts', import.meta.url).pathname;
  const args = ['--import', 'tsx', script, etcdBinary(version), join(dir, 'data'), workParent];
  const parent = spawn(process.execPath, args, {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, PATH: path },
  });
  const pid = Number(await new Promise((resolve) => parent.stdout?.once('data', resolve)));
  expect(isAlive(pid)).toBe(true);
  parent.kill('SIGKILL');
  await exited(parent);
  await expect.poll(() => isAlive(pid), { timeout: 5_000 }).toBe(false);
  return 'gone';
}

/** Those of tests that run beside this one have their own labels. */
async function ourTempDirs(): Promise<string[]> {
  return (await readdir('/tmp')).filter((name) => /^etcdbr-[^-]+$/.test(name));
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

const { root } = protobuf.parse(
  `syntax = "proto3";
  message Compare { int32 result = 1; int32 target = 2; bytes key = 3; int64 mod_revision = 6; }
  message Put { bytes key = 1; bytes value = 2; }
  message Op { Put request_put = 2; }
  message Txn { repeated Compare compare = 1; repeated Op success = 2; }`,
  { keepCase: true },
);

function putTxn(
  keys: readonly string[],
  value: Buffer,
  guard?: { key: string; modRevision: number },
): Buffer {
  const MOD = 2;
  const compare =
    guard === undefined
      ? []
      : [{ target: MOD, key: Buffer.from(guard.key), mod_revision: guard.modRevision }];
  const success = keys.map((key) => ({ request_put: { key: Buffer.from(key), value } }));
  return Buffer.from(root.lookupType('Txn').encode({ compare, success }).finish());
}
