import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { EtcdClient } from '../../src/etcd/client.js';
import type { EtcdEndpoint } from '../../src/etcd/endpoint.js';
import { ETCD_VERSIONS } from '../servers/binaries.js';
import { startEtcd, type TestEtcd } from '../servers/etcd.js';
import { Load } from '../servers/load.js';
import { readTruth, truthDifferences } from '../servers/truth.js';

describe.each(ETCD_VERSIONS)('short calls to etcd %s', (version) => {
  let etcd: TestEtcd;
  let endpoint: EtcdEndpoint;

  beforeAll(async () => {
    etcd = await startEtcd(version);
    endpoint = await etcd.open();
  });
  afterAll(async () => {
    endpoint?.close();
    await etcd?.destroy();
  });

  test('status tells revision, size, version and identities', async () => {
    const status = await endpoint.status();
    expect(status.version).toBe(version);
    expect(status.dbSizeBytes).toBeGreaterThan(0);
    expect(status.leaderId).toBe(status.memberId);
    expect(status.clusterId).not.toBe(0n);
    const members = await endpoint.memberList();
    expect(members).toMatchObject([{ id: status.memberId, name: 'test', isLearner: false }]);
  });

  test('a key is read as it was at a revision, exactly', async () => {
    const key = Buffer.from([0, 255, 10, 200]);
    const first = BigInt((await endpoint.kv.put({ key, value: Buffer.from('one') })).header.revision);
    await endpoint.kv.put({ key, value: Buffer.alloc(0) });
    await endpoint.kv.deleteRange({ key });
    expect(await endpoint.getAt(key, first - 1n)).toBeNull();
    const none = { lease: 0n, createRevision: first };
    expect(await endpoint.getAt(key, first)).toEqual({
      ...{ key, value: Buffer.from('one'), modRevision: first, version: 1n },
      ...none,
    });
    expect(await endpoint.getAt(key, first + 1n)).toEqual({
      ...{ key, value: Buffer.alloc(0), modRevision: first + 1n, version: 2n },
      ...none,
    });
    expect(await endpoint.getAt(key, first + 2n)).toBeNull();
    await expect(endpoint.getAt(key, first + 1000n)).rejects.toMatchObject({ code: 'NOT_FOUND' });
  });

  test('64-bit lease ids stay exact, a lease that is gone reads as null', async () => {
    const id = 0x7ffffffffffffff1n;
    await endpoint.lease.leaseGrant({ ID: String(id), TTL: 777 });
    expect(await endpoint.leaseGrantedTtlSeconds(id)).toBe(777n);
    const { header } = await endpoint.kv.put({
      key: Buffer.from('leased'),
      value: Buffer.from('v'),
      lease: String(id),
    });
    expect((await endpoint.getAt(Buffer.from('leased'), BigInt(header.revision)))?.lease).toBe(id);
    await endpoint.lease.leaseRevoke({ ID: String(id) });
    expect(await endpoint.leaseGrantedTtlSeconds(id)).toBeNull();
  });

  test('a revision below the compaction is COMPACTED, the compact revision itself is readable', async () => {
    await new Load(endpoint, { seed: 1, leases: false }).run(20);
    const { revision } = await endpoint.status();
    const compact = revision - 3n;
    await endpoint.kv.compact({ revision: String(compact), physical: true });
    await expect(endpoint.assertReadable(compact - 1n)).rejects.toMatchObject({ code: 'COMPACTED' });
    await endpoint.assertReadable(compact);
    expect(await endpoint.hashKv(revision)).toMatchObject({ revision, compactRevision: compact });
  });

  test('a seeded load gives the same keys twice; the comparison sees a single changed value', async () => {
    await new Load(endpoint, { seed: 7, compactBehind: 50 }).run(150);
    const before = await readTruth(endpoint);
    expect(truthDifferences(before, await readTruth(endpoint))).toEqual([]);
    expect(before.keys.length).toBeGreaterThan(50);
    const key = before.keys[3];
    if (key === undefined) throw new Error('no keys');
    await endpoint.kv.put({ key: key.key, value: Buffer.from('changed') });
    const differences = truthDifferences(before, await readTruth(endpoint));
    expect(differences.join('\n')).toMatch(/revision: expected .*\n.*key .*expected mod/);
  });

  test('alarms are listed', async () => {
    expect(await endpoint.alarms()).toEqual([]);
  });
});

describe('failures of short calls', () => {
  test('nobody there is UNAVAILABLE and quick, also through the list of endpoints', async () => {
    const client = await EtcdClient.open({ endpoints: ['http://127.0.0.1:1'], connectionTimeoutMs: 3_000 });
    const started = performance.now();
    await expect(client.status()).rejects.toMatchObject({
      code: 'UNAVAILABLE',
      object: 'http://127.0.0.1:1',
    });
    expect(performance.now() - started).toBeLessThan(1_500);
    expect(await client.probe()).toMatchObject({ reachable: false });
    client.close();
  });

  test('the next endpoint answers when the first is down', async () => {
    const etcd = await startEtcd('3.6.16');
    const endpoints = ['http://127.0.0.1:1', etcd.endpoint];
    const client = await EtcdClient.open({ endpoints, connectionTimeoutMs: 3_000 });
    expect((await client.status()).endpoint).toBe(etcd.endpoint);
    client.close();
    await etcd.destroy();
  });

  test('an abort ends a call at once as CANCELLED', async () => {
    const client = await EtcdClient.open({ endpoints: ['http://127.0.0.1:1'], connectionTimeoutMs: 3_000 });
    const signal = AbortSignal.abort();
    await expect(client.status({ signal })).rejects.toMatchObject({ code: 'CANCELLED' });
    client.close();
  });
});
