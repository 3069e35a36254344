import { getEventListeners } from 'node:events';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { Semaphore } from '../../src/base/semaphore.js';

test('a heavy request is not overtaken by light ones behind it', async () => {
  const semaphore = new Semaphore(10);
  const order: string[] = [];
  const first = await semaphore.acquire(8);
  const heavy = semaphore.acquire(9).then((release) => {
    order.push('heavy');
    release();
  });
  const light = semaphore.acquire(1).then((release) => {
    order.push('light');
    release();
  });
  expect(semaphore.waiting).toBe(2);
  first();
  first();
  await Promise.all([heavy, light]);
  expect(order).toEqual(['heavy', 'light']);
  expect(semaphore.used).toBe(0);
});

test('a request above the whole capacity is served alone instead of never', async () => {
  const semaphore = new Semaphore(4);
  const release = await semaphore.acquire(100);
  expect(semaphore.used).toBe(4);
  release();
  expect(semaphore.used).toBe(0);
});

test('an aborted waiter leaves the queue, and those that it held up go on', async () => {
  const semaphore = new Semaphore(10);
  const controller = new AbortController();
  const held = await semaphore.acquire(5);
  const heavy = semaphore.acquire(10, { signal: controller.signal });
  const light = semaphore.acquire(5);
  controller.abort('stop');
  await expect(heavy).rejects.toBe('stop');
  (await light)();
  held();
  expect(semaphore.used).toBe(0);
  await expect(semaphore.acquire(1, { signal: controller.signal })).rejects.toBe('stop');
  expect(getEventListeners(controller.signal, 'abort')).toHaveLength(0);
});

test('a failing job gives its weight back', async () => {
  const semaphore = new Semaphore(1);
  await expect(semaphore.run(1, () => Promise.reject(new Error('no')))).rejects.toThrow('no');
  await expect(semaphore.run(1, async () => 5)).resolves.toBe(5);
});

test('wrong capacities and weights are refused', async () => {
  expect(() => new Semaphore(0)).toThrow(RangeError);
  expect(() => new Semaphore(Number.NaN)).toThrow(RangeError);
  await expect(new Semaphore(1).acquire(-1)).rejects.toThrow(RangeError);
});

test('whatever is asked for, the capacity is kept and everyone is served in order', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.integer({ min: 0, max: 20 }), { maxLength: 40 }), async (weights) => {
      const semaphore = new Semaphore(10);
      const served: number[] = [];
      await Promise.all(
        weights.map((weight, index) =>
          semaphore.run(weight, async () => {
            expect(semaphore.used).toBeLessThanOrEqual(10);
            served.push(index);
            await Promise.resolve();
          }),
        ),
      );
      expect(served).toEqual(weights.map((_, index) => index));
      expect(semaphore.used).toBe(0);
    }),
  );
});
