/** The boundary itself: codes, absent values, abort, threads that come and go. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { BackupError, ERROR_CODES } from '../../src/errors.js';
import { errorCodes } from '../../src/native/binding.js';
import {
  DeltaWriter,
  FileLock,
  hashFile,
  inspectDb,
  SnapshotSink,
  unpackFull,
} from '../../src/native/index.js';

let dir: string;
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'etcdbr-native-'));
});
afterEach(() => rm(dir, { recursive: true }));

const header = {
  clusterId: 1n,
  memberId: 2n,
  serverVersion: '3.6.16',
  predecessorName: '',
  predecessorSha256: null,
  startRevision: 9_007_199_254_740_993n,
  createdMs: 1_700_000_000_000,
  timeline: null,
};

describe('errors', () => {
  it('every code of the addon is a code of the product', () => {
    expect(errorCodes().length).toBeGreaterThan(10);
    for (const code of errorCodes()) expect(ERROR_CODES).toContain(code);
  });

  it('a synchronous verb throws our class with code, operation and object', () => {
    const path = join(dir, 'missing', 'raw');
    const make = () => new SnapshotSink(path, `${path}.zst`, 'zstd');
    expect(make).toThrow(BackupError);
    expect(make).toThrow(expect.objectContaining({ code: 'NOT_FOUND', op: 'snapshot', object: path }));
  });

  it('an asynchronous verb rejects with our class', async () => {
    await expect(inspectDb(join(dir, 'none'))).rejects.toMatchObject({
      name: 'BackupError',
      code: 'NOT_FOUND',
    });
    await writeFile(join(dir, 'text'), 'no database'.repeat(1000));
    await expect(inspectDb(join(dir, 'text'))).rejects.toMatchObject({ code: 'CORRUPT' });
  });
});

describe('values', () => {
  it('revisions cross exactly, absent ones as null', () => {
    const writer = DeltaWriter.create(join(dir, 'x.ebd'), header, 'zstd');
    expect(writer.resumeRevision()).toBe(9_007_199_254_740_993n);
    expect(writer.stats()).toMatchObject({ events: 0, firstRevision: null, openSinceMs: null });
    expect(writer.leases()).toEqual([]);
  });
});

describe('abort', () => {
  it('native work ends with CANCELLED and the signal as its cause', async () => {
    const path = join(dir, 'large');
    await writeFile(path, Buffer.alloc(64 * 1024 * 1024));
    const reason = new Error('enough');
    const digest = hashFile(path, { signal: AbortSignal.abort(reason) });
    await expect(digest).rejects.toMatchObject({ code: 'CANCELLED', cause: reason });
  });

  it('an aborted unpack leaves no target', async () => {
    const source = join(dir, 'plain');
    await writeFile(source, Buffer.alloc(8 * 1024 * 1024));
    const request = {
      source,
      target: join(dir, 'out'),
      codec: 'none',
      stripTrailer: true,
      maxBytes: 1e9,
    } as const;
    await expect(unpackFull('x', request, { signal: AbortSignal.abort() })).rejects.toMatchObject({
      code: 'CANCELLED',
    });
    await expect(hashFile(request.target)).rejects.toMatchObject({ code: 'NOT_FOUND' });
  });
});

describe('locks', () => {
  it('hazard 41: a held lock names its holder', async () => {
    const path = join(dir, 'db');
    await writeFile(path, '');
    const lock = FileLock.acquire(path);
    expect(() => FileLock.acquire(path)).toThrow(expect.objectContaining({ code: 'LOCKED' }));
    expect(() => FileLock.acquire(path)).toThrow(`process ${process.pid}`);
    lock.release();
    FileLock.acquire(path).release();
  });
});

describe('workers', () => {
  it('workers that load the addon come and go', async () => {
    const path = join(dir, 'small');
    await writeFile(path, 'bytes');
    const binding = new URL('../../src/native/binding.js', import.meta.url).href;
    const code = `
      const { parentPort, workerData } = require('node:worker_threads');
      import(workerData.binding).then(async ({ hashFile, JobControl }) => {
        parentPort.postMessage((await hashFile(workerData.path, new JobControl())).bytes);
      });`;
    for (let round = 0; round < 20; round++) {
      const worker = new Worker(code, { eval: true, workerData: { binding, path } });
      const bytes = await new Promise((resolve, reject) =>
        worker.once('message', resolve).once('error', reject),
      );
      expect(bytes).toBe(5);
      await worker.terminate();
    }
  });
});
