import { createHash } from 'node:crypto';
import { afterEach, describe, expect, test } from 'vitest';
import type { EtcdConnection } from '../../src/etcd/connection.js';
import { type SnapshotSink, streamSnapshot } from '../../src/etcd/snapshot-stream.js';
import { ETCD_VERSIONS } from '../servers/binaries.js';
import { startEtcd } from '../servers/etcd.js';
import { Load } from '../servers/load.js';
import { FlakyProxy } from '../servers/proxy.js';
import { blobOf, type Script, scriptedEtcd, snapshotPart } from './scripted-etcd.js';

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

class BlobSink implements SnapshotSink {
  readonly blobs: Buffer[] = [];
  answer: 'more' | 'pause' | 'stop' = 'more';
  waits = 0;
  drainMs = 0;

  push(message: Uint8Array): 'more' | 'pause' | 'stop' {
    this.blobs.push(blobOf(message));
    return this.answer;
  }

  async drained(): Promise<void> {
    this.waits += 1;
    await new Promise((resolve) => setTimeout(resolve, this.drainMs));
  }

  bytes(): Buffer {
    return Buffer.concat(this.blobs);
  }
}

function isWhole(bytes: Buffer): boolean {
  const digest = createHash('sha256').update(bytes.subarray(0, -32)).digest();
  return bytes.length % 512 === 32 && digest.equals(bytes.subarray(-32));
}

function connectionTo(...endpoints: string[]): EtcdConnection {
  return { endpoints, connectionTimeoutMs: 3_000 };
}

describe.each(ETCD_VERSIONS)('snapshot stream of etcd %s', (version) => {
  test('is whole and closed by its digest; cut at any byte it fails', async () => {
    const etcd = await startEtcd(version);
    const proxy = await FlakyProxy.open(etcd.clientPort);
    cleanups.push(
      () => etcd.destroy(),
      () => proxy.close(),
    );
    const endpoint = await etcd.open();
    await new Load(endpoint, { seed: 4 }).run(200);
    endpoint.close();

    const whole = new BlobSink();
    const done = await streamSnapshot(connectionTo(proxy.endpoint), whole, { noProgressTimeoutMs: 5_000 });
    expect(done).toMatchObject({ endpoint: proxy.endpoint, ended: true });
    expect(isWhole(whole.bytes())).toBe(true);

    const wireBytes = proxy.passedBytes;
    const cuts = [1, 200, Math.floor(wireBytes / 2), wireBytes - 200, wireBytes - 60, wireBytes - 20];
    for (const cut of cuts) {
      proxy.cutAfterBytes = [cut];
      const sink = new BlobSink();
      const result = await streamSnapshot(connectionTo(proxy.endpoint), sink, {
        noProgressTimeoutMs: 5_000,
      }).then(
        () => isWhole(sink.bytes()),
        (error) => error.code,
      );
      // Another stream may need a few frames less; then all of it went through before the cut.
      const wholeAllTheSame = result === true && cut > wireBytes - 1_000;
      expect([cut, wholeAllTheSame ? 'UNAVAILABLE' : result]).toEqual([cut, 'UNAVAILABLE']);
    }
  });
});

describe('snapshot stream', () => {
  const options = { noProgressTimeoutMs: 500 };

  async function scripted(onSnapshot: NonNullable<Script['onSnapshot']>): Promise<string> {
    const etcd = await scriptedEtcd({ onSnapshot });
    cleanups.push(() => etcd.close());
    return etcd.endpoint;
  }

  test('an error after the last byte is an error', async () => {
    const endpoint = await scripted((stream) => {
      stream.write(snapshotPart(32, Buffer.alloc(1024)));
      stream.write(snapshotPart(0, Buffer.alloc(32)));
      stream.emit('error', { code: 2, details: 'disk I/O error' });
    });
    const running = streamSnapshot(connectionTo(endpoint), new BlobSink(), options);
    await expect(running).rejects.toMatchObject({
      code: 'UNAVAILABLE',
      message: expect.stringContaining('disk I/O'),
    });
  });

  test('etcd that stops sending is a TIMEOUT that says who was waited for', async () => {
    const endpoint = await scripted((stream) => void stream.write(snapshotPart(1024, Buffer.alloc(1024))));
    const running = streamSnapshot(connectionTo(endpoint), new BlobSink(), options);
    await expect(running).rejects.toMatchObject({
      code: 'TIMEOUT',
      message: expect.stringContaining('for etcd'),
    });
  });

  test('a sink that never drains is a TIMEOUT too, a slow one is waited for', async () => {
    const send = (stream: Parameters<NonNullable<Script['onSnapshot']>>[0]) => {
      for (let part = 0; part < 5; part++) stream.write(snapshotPart(0, Buffer.alloc(1024)));
      stream.end();
    };
    const slow = Object.assign(new BlobSink(), { answer: 'pause', drainMs: 200 } as const);
    await streamSnapshot(connectionTo(await scripted(send)), slow, options);
    expect(slow).toMatchObject({ waits: 5 });
    const stuck = Object.assign(new BlobSink(), { answer: 'pause', drainMs: 60_000 } as const);
    const running = streamSnapshot(connectionTo(await scripted(send)), stuck, options);
    await expect(running).rejects.toMatchObject({
      code: 'TIMEOUT',
      message: expect.stringContaining('the disk'),
    });
  });

  test('a sink that failed ends the stream; an abort is CANCELLED', async () => {
    const endless = (stream: Parameters<NonNullable<Script['onSnapshot']>>[0]) => {
      const timer = setInterval(() => stream.write(snapshotPart(1_000_000, Buffer.alloc(1024))), 5);
      stream.on('cancelled', () => clearInterval(timer));
    };
    const endpoint = await scripted(endless);
    const failed = Object.assign(new BlobSink(), { answer: 'stop' } as const);
    expect(await streamSnapshot(connectionTo(endpoint), failed, options)).toMatchObject({ ended: false });
    const abort = new AbortController();
    const running = streamSnapshot(connectionTo(endpoint), new BlobSink(), {
      ...options,
      signal: abort.signal,
    });
    setTimeout(() => abort.abort(), 100);
    await expect(running).rejects.toMatchObject({ code: 'CANCELLED' });
  });

  test('an endpoint that is down is passed over; one that broke in the middle is not', async () => {
    const good = await scripted((stream) => {
      stream.write(snapshotPart(0, Buffer.alloc(32)));
      stream.end();
    });
    const done = await streamSnapshot(connectionTo('http://127.0.0.1:1', good), new BlobSink(), options);
    expect(done.endpoint).toBe(good);
    const broken = await scripted((stream) => {
      stream.write(snapshotPart(1024, Buffer.alloc(32)));
      setTimeout(() => stream.emit('error', { code: 14, details: 'transport is closing' }), 50);
    });
    const running = streamSnapshot(connectionTo(broken, good), new BlobSink(), options);
    await expect(running).rejects.toMatchObject({ object: broken });
  });
});
