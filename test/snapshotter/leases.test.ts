import { expect, test } from 'vitest';
import { BackupError } from '../../src/errors.js';
import { LeaseBook } from '../../src/snapshotter/leases.js';

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
