import { afterEach, describe, expect, test } from 'vitest';
import { EtcdClient } from '../../src/etcd/client.js';
import type { EtcdEndpoint } from '../../src/etcd/endpoint.js';
import { openWatch, type Watch, type WatchOptions } from '../../src/etcd/watch.js';
import { ETCD_VERSIONS, type EtcdVersion } from '../servers/binaries.js';
import { type EtcdOptions, startEtcd, type TestEtcd } from '../servers/etcd.js';
import { Load } from '../servers/load.js';
import { FlakyProxy } from '../servers/proxy.js';
import { Random } from '../servers/random.js';
import { CollectingSink } from './collecting-sink.js';

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

async function setUp(version: EtcdVersion, options: EtcdOptions = {}) {
  const etcd = await startEtcd(version, options);
  const endpoint = await etcd.open();
  cleanups.push(
    () => etcd.destroy(),
    () => endpoint.close(),
  );
  return { etcd, endpoint };
}

async function watchFrom(
  startRevision: bigint,
  endpoints: readonly string[],
  etcd: TestEtcd,
  change: Partial<WatchOptions> = {},
) {
  const sink = new CollectingSink(startRevision);
  const client = await EtcdClient.open(etcd.connection({ endpoints }));
  const watch = openWatch({ client, startRevision, sink, outageLimitMs: 20_000, ...change });
  cleanups.push(
    () => client.close(),
    () => watch.close(),
  );
  return { sink, watch };
}

async function caughtUp(watch: Watch, etcd: EtcdEndpoint): Promise<bigint> {
  const { revision } = await etcd.status();
  expect(await watch.reached(revision, 20_000)).toBe(true);
  return revision;
}

describe.each(ETCD_VERSIONS)('watch of etcd %s', (version) => {
  test('a live load arrives whole: leases, nested transactions, binary keys, large values', async () => {
    const { etcd, endpoint } = await setUp(version);
    const start = (await endpoint.status()).revision + 1n;
    const { sink, watch } = await watchFrom(start, [etcd.endpoint], etcd);
    await watch.opened;
    const load = new Load(endpoint, { seed: 42, compactBehind: 100 });
    await load.putExpiring('expires');
    await load.run(400);
    const revision = await caughtUp(watch, endpoint);
    expect(sink.events[0]?.revision).toBe(start);
    expect(sink.lastRevision).toBe(revision);
    expect(new Set(sink.events.map((event) => event.revision)).size).toBe(Number(revision - start) + 1);
    expect(sink.events.some((event) => event.lease > 0n)).toBe(true);
    expect(watch.status()).toMatchObject({ lagRevisions: 0n, reconnects: 0, endpoint: etcd.endpoint });
  });

  test('a connection cut at random bytes of the catch-up, inside transactions too, loses and repeats nothing', async () => {
    const { etcd, endpoint } = await setUp(version);
    await new Load(endpoint, { seed: 5 }).run(300);
    for (let round = 0; round < 12; round++) await bigTransaction(endpoint, 6, 230_000, round);
    const whole = await watchFrom(2n, [etcd.endpoint], etcd);
    await caughtUp(whole.watch, endpoint);

    const proxy = await FlakyProxy.open(etcd.clientPort);
    cleanups.push(() => proxy.close());
    const random = new Random(99);
    proxy.cutAfterBytes = Array.from({ length: 10 }, () => 100 + random.int(6_000_000));
    const cut = await watchFrom(2n, [proxy.endpoint], etcd);
    await caughtUp(cut.watch, endpoint);
    expect(cut.watch.status().reconnects).toBeGreaterThan(3);
    expect(cut.sink.dropped).toBeGreaterThan(0);
    expect(cut.sink.events).toEqual(whole.sink.events);
  });

  test('a start that was compacted away ends as COMPACTED, also when only the start itself was', async () => {
    const { etcd, endpoint } = await setUp(version);
    await new Load(endpoint, { seed: 6, leases: false }).run(100);
    const { revision } = await endpoint.status();
    await endpoint.kv.compact({ revision: String(revision - 10n), physical: true });
    const below = await watchFrom(5n, [etcd.endpoint], etcd);
    await expect(below.watch.ended).rejects.toMatchObject({ code: 'COMPACTED' });
    const equal = await watchFrom(revision - 10n, [etcd.endpoint], etcd);
    await expect(equal.watch.ended).rejects.toMatchObject({
      code: expect.stringMatching(/COMPACTED|REVISION_GAP/),
    });
    const above = await watchFrom(revision - 9n, [etcd.endpoint], etcd);
    await caughtUp(above.watch, endpoint);
  });

  test('one transaction of 10,000 operations, and one of 4 x 1.4 MB, are one revision each (hazard 13)', async () => {
    const flags = ['--max-txn-ops', '20000', '--max-request-bytes', '10000000'];
    const { etcd, endpoint } = await setUp(version, { flags });
    await bigTransaction(endpoint, 10_000, 40, 1);
    await bigTransaction(endpoint, 4, 1_400_000, 2);
    const { sink, watch } = await watchFrom(2n, [etcd.endpoint], etcd);
    expect(await caughtUp(watch, endpoint)).toBe(3n);
    expect(sink.events.filter((event) => event.revision === 2n)).toHaveLength(10_000);
    expect(sink.events.filter((event) => event.revision === 3n).map((event) => event.valueBytes)).toEqual([
      ...[1_400_000, 1_400_000, 1_400_000, 1_400_000],
    ]);
  });

  test('etcd killed and started again under the watch: it goes on where it was', async () => {
    const { etcd, endpoint } = await setUp(version);
    const start = (await endpoint.status()).revision + 1n;
    const { sink, watch } = await watchFrom(start, [etcd.endpoint], etcd);
    await watch.opened;
    await new Load(endpoint, { seed: 8 }).run(50);
    await etcd.kill();
    await etcd.start();
    await new Load(endpoint, { seed: 9 }).run(50);
    expect(sink.events[0]?.revision).toBe(start);
    expect(await caughtUp(watch, endpoint)).toBe(sink.lastRevision);
    expect(watch.status().reconnects).toBeGreaterThan(0);
  });
});

describe('watch', () => {
  test('a full sink leaves the stream unread, and loses nothing', async () => {
    const { etcd, endpoint } = await setUp('3.5.35');
    for (let round = 0; round < 40; round++) await bigTransaction(endpoint, 1, 1_000_000, round);
    const proxy = await FlakyProxy.open(etcd.clientPort);
    cleanups.push(() => proxy.close());
    const sink = new CollectingSink(2n);
    sink.full = true;
    const { watch } = await watchFrom(2n, [proxy.endpoint], etcd, { sink });
    await watch.opened;
    await new Promise((resolve) => setTimeout(resolve, 1_000));
    expect(sink.responses).toHaveLength(1);
    expect(proxy.passedBytes).toBeLessThan(20_000_000);
    sink.release();
    expect(await caughtUp(watch, endpoint)).toBe(sink.lastRevision);
  });

  test('the next endpoint is taken when one is gone', async () => {
    const { etcd, endpoint } = await setUp('3.6.16');
    const proxy = await FlakyProxy.open(etcd.clientPort);
    cleanups.push(() => proxy.close());
    const { watch, sink } = await watchFrom(2n, [proxy.endpoint, etcd.endpoint], etcd);
    await watch.opened;
    expect(watch.status().endpoint).toBe(proxy.endpoint);
    await proxy.close();
    await new Load(endpoint, { seed: 3 }).run(30);
    expect(await caughtUp(watch, endpoint)).toBe(sink.lastRevision);
    expect(watch.status().endpoint).toBe(etcd.endpoint);
  });

  test('a peer that vanished without a word is noticed by keepalive', async () => {
    const { etcd, endpoint } = await setUp('3.6.16');
    const proxy = await FlakyProxy.open(etcd.clientPort);
    cleanups.push(() => proxy.close());
    const { watch, sink } = await watchFrom(2n, [proxy.endpoint, etcd.endpoint], etcd);
    await watch.opened;
    proxy.frozen = true;
    await new Load(endpoint, { seed: 3 }).run(10);
    const { revision } = await endpoint.status();
    expect(await watch.reached(revision, 30_000)).toBe(true);
    expect(sink.lastRevision).toBe(revision);
  });

  test('an etcd that was put back to an older state is FORK, not a quiet wait for the future', async () => {
    const { etcd, endpoint } = await setUp('3.5.35');
    await new Load(endpoint, { seed: 3 }).run(10);
    const { watch } = await watchFrom(5_000n, [etcd.endpoint], etcd);
    await expect(watch.ended).rejects.toMatchObject({ code: 'FORK' });
  });

  test('the caller can refuse the history that a stream would continue', async () => {
    const { etcd } = await setUp('3.5.35');
    const onOpened = () => Promise.reject(new Error('not ours'));
    const { watch, sink } = await watchFrom(2n, [etcd.endpoint], etcd, { onOpened });
    await expect(watch.ended).rejects.toThrow('not ours');
    expect(sink.events).toEqual([]);
  });

  test('an outage longer than its limit ends with the last failure; close ends without one', async () => {
    const { etcd } = await setUp('3.5.35');
    const dead = await watchFrom(2n, ['http://127.0.0.1:1'], etcd, { outageLimitMs: 500 });
    await expect(dead.watch.opened).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    await expect(dead.watch.ended).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    const alive = await watchFrom(2n, [etcd.endpoint], etcd);
    await alive.watch.opened;
    await alive.watch.close();
    await alive.watch.ended;
  });
});

/** One revision of `keys` puts with values of `valueBytes`. */
async function bigTransaction(etcd: EtcdEndpoint, keys: number, valueBytes: number, salt: number) {
  const success = Array.from({ length: keys }, (_, at) => ({
    request_put: { key: Buffer.from(`big/${salt}/${at}`), value: Buffer.alloc(valueBytes, at) },
  }));

  await etcd.kv.txn({ compare: [], success, failure: [] });
}
