import { afterEach, expect, test } from 'vitest';
import { EtcdClient } from '../../src/etcd/client.js';
import { openWatch } from '../../src/etcd/watch.js';
import { CollectingSink } from './collecting-sink.js';
import { range, type Script, scriptedEtcd, type WatchStream, watchResponse } from './scripted-etcd.js';

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

async function watchScript(startRevision: bigint, onWatch: NonNullable<Script['onWatch']>) {
  const etcd = await scriptedEtcd({ onWatch });
  const client = await EtcdClient.open({ endpoints: [etcd.endpoint], connectionTimeoutMs: 3_000 });
  const sink = new CollectingSink(startRevision);
  const watch = openWatch({ client, startRevision, sink, outageLimitMs: 10_000 });
  cleanups.push(
    () => etcd.close(),
    () => client.close(),
    () => watch.close(),
  );
  return { sink, watch };
}

function send(stream: WatchStream, ...responses: Parameters<typeof watchResponse>[0][]): void {
  for (const response of responses) stream.write(watchResponse(response));
}

test('a header revision ahead of the events is never a position (hazard 12)', async () => {
  const starts: bigint[] = [];
  const { sink, watch } = await watchScript(1001n, (stream, start) => {
    starts.push(start);
    send(stream, { headerRevision: 4000, created: true });
    if (starts.length === 1) {
      send(stream, { headerRevision: 4000, revisions: range(1001, 2000) });
      setTimeout(() => stream.emit('error', { code: 14, details: 'transport is closing' }), 50);
      return;
    }
    send(stream, { headerRevision: 4000, revisions: range(Number(start), 4000) }, { headerRevision: 4100 });
  });
  expect(await watch.reached(4000n, 5_000)).toBe(true);
  expect(starts).toEqual([1001n, 2001n]);
  expect(sink.events).toHaveLength(3000);
  expect(sink.lastRevision).toBe(4000n);
  await expect.poll(() => watch.status()).toMatchObject({ storeRevision: 4100n, lastRevision: 4000n });
});

test('a stream that breaks between the pieces of a transaction goes on at that transaction', async () => {
  const starts: bigint[] = [];
  const { sink, watch } = await watchScript(10n, (stream, start) => {
    starts.push(start);
    send(stream, { headerRevision: 11, created: true });
    if (starts.length === 1) {
      send(stream, { headerRevision: 11, revisions: [10, 11, 11], fragment: true });
      setTimeout(() => stream.emit('error', { code: 14, details: 'transport is closing' }), 50);
      return;
    }
    send(stream, { headerRevision: 11, revisions: [11, 11], fragment: true });
    send(stream, { headerRevision: 11, revisions: [11] });
  });
  expect(await watch.reached(11n, 5_000)).toBe(true);
  expect(starts).toEqual([10n, 11n]);
  expect(sink.dropped).toBe(2);
  expect(sink.events.map((event) => event.revision)).toEqual([10n, 11n, 11n, 11n]);
});

test('a hole in the revisions ends the watch: nothing is taken after it', async () => {
  const { sink, watch } = await watchScript(5n, (stream) => {
    send(stream, { headerRevision: 9, created: true }, { headerRevision: 9, revisions: [5, 6, 8, 9] });
  });
  await expect(watch.ended).rejects.toMatchObject({ code: 'REVISION_GAP' });
  expect(sink.lastRevision).toBe(6n);
});

test('a stream without an answer to the watch is given up after the connection timeout', async () => {
  let streams = 0;
  const { watch } = await watchScript(5n, (stream) => {
    streams += 1;
    if (streams > 1)
      send(stream, { headerRevision: 5, created: true }, { headerRevision: 5, revisions: [5] });
  });
  expect(await watch.reached(5n, 12_000)).toBe(true);
  expect(streams).toBe(2);
});

test('what the server says when it ends the stream is not taken for the end of the watch', async () => {
  let streams = 0;
  const { watch } = await watchScript(5n, (stream) => {
    streams += 1;
    if (streams === 1) return void stream.emit('error', { code: 1, details: 'context canceled' });
    if (streams === 2) return void stream.end();
    send(stream, { headerRevision: 5, created: true }, { headerRevision: 5, revisions: [5] });
  });
  expect(await watch.reached(5n, 10_000)).toBe(true);
});
