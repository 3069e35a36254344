/** Hazards 21 and 37: a snapshot stream that is cut or damaged publishes nothing and leaves nothing behind. */
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { status } from '@grpc/grpc-js';
import { expect, test } from 'vitest';
import { EtcdClient } from '../../src/etcd/client.js';
import { takeFull } from '../../src/snapshotter/full.js';
import { once } from '../../src/snapshotter/persist.js';
import { type SnapshotStream, scriptedEtcd, snapshotPart } from '../etcd/scripted-etcd.js';
import type { TestEtcd } from '../servers/etcd.js';
import { Load } from '../servers/load.js';
import { FlakyProxy } from '../servers/proxy.js';
import type { BackupPlace } from '../snapshotter/backup.js';
import { readSet } from '../snapshotter/prove-set.js';
import { cleanUp, setUp } from '../snapshotter/set-up.js';

const PART_BYTES = 32 * 1024;

test('cut at any byte, ended early without an error, or damaged: nothing is published', async () => {
  const { etcd, endpoint, place } = await setUp('3.6.16');
  await new Load(endpoint, { seed: 21 }).run(200);
  const path = join(place.dir, 'snapshot.db');
  await etcd.ctl('snapshot', 'save', path);
  const whole = await readFile(path);
  const n = whole.length;

  for (const bytes of [n - 32, n - 1, n - 33, Math.floor(n / 2), 0]) {
    const outcome = fullFrom(etcd, place, (stream) => send(stream, whole.subarray(0, bytes)));
    await expect(outcome, `${bytes} of ${n} bytes`).rejects.toMatchObject({
      code: expect.stringMatching(/TRUNCATED|CHECKSUM/),
    });
  }
  const failing = fullFrom(etcd, place, (stream) => {
    for (const part of parts(whole)) stream.write(part);
    stream.emit('error', Object.assign(new Error('leader changed'), { code: status.UNAVAILABLE }));
  });
  await expect(failing).rejects.toThrow();
  const flipped = Buffer.from(whole);
  flipped[n / 2] = (flipped[n / 2] as number) ^ 1;
  await expect(fullFrom(etcd, place, (stream) => send(stream, flipped))).rejects.toMatchObject({
    code: 'CHECKSUM',
  });
  expect(await readSet(place.store)).toEqual([]);
  expect(await readdir(place.tempDir)).toEqual([]);

  await fullFrom(etcd, place, (stream) => send(stream, whole));
  expect(await readSet(place.store)).toHaveLength(1);
});

test('a connection cut while a real etcd streams: the run ends, nothing is published; the next one succeeds', async () => {
  const { etcd, endpoint, place, start } = await setUp('3.5.35');
  await new Load(endpoint, { seed: 22 }).run(200);
  const proxy = await FlakyProxy.open(etcd.clientPort);
  cleanUp(() => proxy.close());
  for (const bytes of [100, 5_000, 100_000]) {
    // The first connection is that of the short calls.
    proxy.cutAfterBytes = [Number.POSITIVE_INFINITY, bytes];
    const backup = await start({ endpoints: [proxy.endpoint], flags: { once: 'full' } });
    await expect(backup.ended).rejects.toMatchObject({ code: 'UNAVAILABLE' });
  }
  expect(await readSet(place.store)).toEqual([]);
  expect(await readdir(place.tempDir)).toEqual([]);
  const backup = await start({ endpoints: [proxy.endpoint], flags: { once: 'full' } });
  await backup.ended;
  expect(await readSet(place.store)).toHaveLength(1);
});

/** Short calls go to the real etcd, the stream comes from the script. */
async function fullFrom(
  etcd: TestEtcd,
  place: BackupPlace,
  onSnapshot: (stream: SnapshotStream) => void,
): Promise<unknown> {
  const scripted = await scriptedEtcd({ onSnapshot });
  const client = await EtcdClient.open(etcd.connection());
  const connection = { ...client.connection, endpoints: [scripted.endpoint] };
  const mixed = Object.assign(Object.create(client), { status: () => client.status() });
  Object.defineProperty(mixed, 'connection', { value: connection });
  try {
    return await takeFull({
      client: mixed,
      store: place.store,
      tempDir: place.tempDir,
      codec: 'zstd',
      streamTimeoutMs: 0,
      restoredFrom: undefined,
      before: undefined,
      upload: once,
      observe: () => undefined,
    });
  } finally {
    client.close();
    scripted.close();
  }
}

function send(stream: SnapshotStream, bytes: Buffer): void {
  for (const part of parts(bytes)) stream.write(part);
  stream.end();
}

function* parts(bytes: Buffer): Generator<Buffer> {
  for (let at = 0; at < bytes.length; at += PART_BYTES) {
    const blob = bytes.subarray(at, at + PART_BYTES);
    yield snapshotPart(bytes.length - at - blob.length, blob);
  }
}
