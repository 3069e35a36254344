import { expect, it } from 'vitest';
import { LimitedStore } from '../../src/store/limit.js';
import { MemoryStore } from '../../src/store/memory.js';
import { codeOf, keysOf, pattern, put, readAll } from './conformance/material.js';
import { FaultyStore } from './faulty.js';

it('never lets more operations in than it was told', async () => {
  const memory = new MemoryStore();
  let inside = 0;
  let most = 0;
  const counting = new Proxy(memory, {
    get: (target, name: keyof MemoryStore) => {
      if (name !== 'head') return target[name];
      return async (key: string) => {
        inside += 1;
        most = Math.max(most, inside);
        await new Promise((resolve) => setTimeout(resolve, 2));
        inside -= 1;
        return target.head(key);
      };
    },
  });
  await put(memory, 'v2/a');
  const store = new LimitedStore(counting, { operations: 3 });
  await Promise.all(Array.from({ length: 30 }, () => store.head('v2/a')));
  expect(most).toBe(3);
});

it('holds a slot for a body until its end or until it is left, and none for a listing', async () => {
  const memory = new MemoryStore({ chunkBytes: 10 });
  await memory.putBytes('v2/a', pattern(100));
  const store = new LimitedStore(memory, { operations: 1 });
  for await (const { key } of store.list('')) {
    for await (const chunk of store.get(key)) {
      expect(chunk).toHaveLength(10);
      expect(await keysOf(store)).toEqual(['v2/a']);
      const signal = AbortSignal.timeout(10);
      expect(await codeOf(store.head('v2/a', { signal }))).toBe('CANCELLED');
      break;
    }
  }
  expect((await store.head('v2/a')).bytes).toBe(100);
});

it('gives the slot back after a failure', async () => {
  const fault = { kind: 'error', code: 'UNAVAILABLE' } as const;
  const memory = new MemoryStore();
  await put(memory, 'v2/a');
  const store = new LimitedStore(new FaultyStore(memory, [{ on: 'any', times: 2, fault }]), {
    operations: 1,
  });
  expect(await codeOf(store.head('v2/a'))).toBe('UNAVAILABLE');
  expect(await codeOf(readAll(store, 'v2/a'))).toBe('UNAVAILABLE');
  expect(await codeOf(store.head('v2/a'))).toBe('no error');
});
