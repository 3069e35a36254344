/** An etcd that takes requests in any order: the guards must still give exactly one, and nothing may wait for ever. */
import { setImmediate as turn } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { BackupError } from '../../src/errors.js';
import type { ReplayBatch } from '../../src/native/index.js';
import { GuardedPipeline, WINDOW_BYTES, WINDOW_TXNS } from '../../src/restorer/guarded-pipeline.js';
import { Random } from '../servers/random.js';

/** Requests are their revision in text, padded; `barriers` are indexes. */
function batchOf(first: number, count: number, bytes = 12, barriers: readonly number[] = [0]): ReplayBatch {
  const requests = Array.from({ length: count }, (_, at) => Buffer.from(String(first + at).padEnd(bytes)));
  return {
    bytes: Buffer.concat(requests),
    ends: Uint32Array.from(requests, (_, at) => (at + 1) * bytes),
    barriers: Uint8Array.from(requests, (_, at) => (barriers.includes(at) ? 1 : 0)),
    firstRevision: BigInt(first),
    lastRevision: BigInt(first + count - 1),
    events: count,
    leases: [],
  };
}

class ScramblingEtcd {
  revision: number;
  inFlight = 0;
  mostInFlight = 0;
  readonly applied: number[] = [];
  readonly #random: Random;

  constructor(revision: number, seed: number) {
    this.revision = revision;
    this.#random = new Random(seed);
  }

  readonly txn = async (request: Buffer) => {
    this.inFlight += 1;
    this.mostInFlight = Math.max(this.mostInFlight, this.inFlight);
    for (let late = this.#random.int(6) === 0 ? 3 : 0; late >= 0; late--) await turn();
    this.inFlight -= 1;
    const wanted = Number(request.toString().trim());
    const succeeded = wanted === this.revision + 1;
    if (succeeded) this.applied.push(++this.revision);
    return { revision: BigInt(this.revision), succeeded };
  };
}

describe('guarded pipelining', () => {
  test.each([1, 2, 3, 4, 5])(
    'applies every revision once and in order, however requests overtake (seed %d)',
    async (seed) => {
      const etcd = new ScramblingEtcd(100, seed);
      const pipeline = new GuardedPipeline(etcd.txn);
      await pipeline.apply(batchOf(101, 500, 12, [0, 17, 18, 400]));
      await pipeline.apply(batchOf(601, 300, 12, []));
      expect(etcd.applied).toEqual(Array.from({ length: 800 }, (_, at) => 101 + at));
      expect(pipeline.repeated).toBeGreaterThan(0);
      expect(etcd.mostInFlight).toBeLessThanOrEqual(WINDOW_TXNS);
      expect(etcd.mostInFlight).toBeGreaterThan(5);
    },
  );

  test('a barrier is sent when everything before it is acknowledged, and alone is enough', async () => {
    const etcd = new ScramblingEtcd(0, 1);
    await new GuardedPipeline(etcd.txn).apply(
      batchOf(
        1,
        20,
        12,
        Array.from({ length: 20 }, (_, at) => at),
      ),
    );
    expect(etcd.mostInFlight).toBe(1);
    expect(etcd.revision).toBe(20);
  });

  test('large requests are bounded by bytes, one that is larger than the window goes alone', async () => {
    const etcd = new ScramblingEtcd(0, 1);
    await new GuardedPipeline(etcd.txn).apply(batchOf(1, 6, WINDOW_BYTES + 1));
    expect(etcd.mostInFlight).toBe(1);
    const half = new ScramblingEtcd(0, 2);
    await new GuardedPipeline(half.txn).apply(batchOf(1, 9, WINDOW_BYTES / 2));
    expect(half.mostInFlight).toBe(2);
  });

  test('a request that can never hold ends the replay with its revision', async () => {
    const etcd = new ScramblingEtcd(50, 1);
    const applying = new GuardedPipeline(etcd.txn).apply(batchOf(101, 10));
    await expect(applying).rejects.toMatchObject({
      code: 'MISMATCH',
      message: expect.stringContaining('revision 101'),
    });
  });

  test('a revision that something else took is noticed', async () => {
    const send = async () => ({ revision: 7n, succeeded: true });
    const applying = new GuardedPipeline(send).apply(batchOf(1, 3));
    await expect(applying).rejects.toMatchObject({ code: 'MISMATCH' });
  });

  test('a failing call ends it, once what was in flight is back', async () => {
    const etcd = new ScramblingEtcd(0, 3);
    const send = async (request: Buffer) => {
      if (request.toString().trim() === '30') throw new BackupError('IO', 'etcd is gone');
      return etcd.txn(request);
    };
    await expect(new GuardedPipeline(send).apply(batchOf(1, 100))).rejects.toMatchObject({ code: 'IO' });
    expect(etcd.inFlight).toBe(0);
  });
});
