import { join } from 'node:path';
import { expect, test } from 'vitest';
import { BackupError } from '../../src/errors.js';
import { verifyDelta } from '../../src/native/index.js';
import { LeaseBook } from '../../src/snapshotter/leases.js';
import { setUp } from './set-up.js';

function reader(answer: (id: bigint, asked: number) => bigint | null) {
  const asked: bigint[] = [];
  let under = 0;
  const most = { atATime: 0 };
  return {
    asked,
    most,
    leaseGrantedTtlSeconds: async (id: bigint) => {
      asked.push(id);
      under += 1;
      most.atATime = Math.max(most.atATime, under);
      await new Promise((resolve) => setTimeout(resolve, 1));
      under -= 1;
      return answer(id, asked.filter((other) => other === id).length);
    },
  };
}

const ids = (count: number) => Array.from({ length: count }, (_, at) => BigInt(at + 1));

test('each lease is asked for once, a few at a time; gone ones are left out', async () => {
  const etcd = reader((id) => (id % 2n === 0n ? null : id * 10n));
  const book = new LeaseBook(etcd);
  book.note(ids(100));
  const { grants, unknown } = await book.grants(ids(100), 5_000);
  expect(unknown).toBe(0);
  expect(grants).toEqual(
    ids(100)
      .filter((id) => id % 2n === 1n)
      .map((id) => ({ id, ttlSeconds: id * 10n })),
  );
  book.note(ids(100));
  await book.grants(ids(100), 5_000);
  expect(etcd.asked).toHaveLength(100);
  expect(etcd.most.atATime).toBeLessThanOrEqual(8);
});

test('what etcd did not answer is asked again at the end, and counted when it stays silent', async () => {
  const etcd = reader((id, asked) => {
    if (id === 3n || asked === 1) throw new BackupError('UNAVAILABLE', 'away');
    return 60n;
  });
  const book = new LeaseBook(etcd);
  book.note(ids(3));
  await new Promise((resolve) => setTimeout(resolve, 20));
  expect(await book.grants(ids(3), 1_000)).toEqual({
    grants: [
      { id: 1n, ttlSeconds: 60n },
      { id: 2n, ttlSeconds: 60n },
    ],
    unknown: 1,
  });
});

test('the end of a delta is not held up by an etcd that is slow', async () => {
  const book = new LeaseBook({
    leaseGrantedTtlSeconds: () => new Promise((resolve) => setTimeout(() => resolve(5n), 50)),
  });
  const startedMs = performance.now();
  const { grants, unknown } = await book.grants(ids(1_000), 200);
  expect(performance.now() - startedMs).toBeLessThan(1_000);
  expect(grants.length + unknown).toBe(1_000);
});

test('a delta carries the TTL of every lease that it names, also of one granted after the full (hazard 5)', async () => {
  const { endpoint, place, start } = await setUp('3.6.16');
  const grant = async (TTL: number) => (await endpoint.lease.leaseGrant({ TTL })).ID;
  const before = await grant(1_000);
  const backup = await start({ flags: { 'delta-snapshot-period': '1h' } });
  await backup.saw('full-stored');
  const after = await grant(2_000);
  const third = await grant(3_000);
  for (const [at, lease] of [before, after, third].entries()) {
    await endpoint.kv.put({ key: Buffer.from(`leased-${at}`), value: Buffer.from('v'), lease });
  }
  await backup.stop();
  const [delta] = backup.of('delta-stored');
  const { leases } = await verifyDelta('delta', join(place.container, 'v2', delta?.name ?? ''));
  const expected = [
    { id: BigInt(before), ttlSeconds: 1_000n },
    { id: BigInt(after), ttlSeconds: 2_000n },
    { id: BigInt(third), ttlSeconds: 3_000n },
  ];
  expect(leases).toEqual(expected.sort((a, b) => (a.id < b.id ? -1 : 1)));
});
