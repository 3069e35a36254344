import { expect, it } from 'vitest';
import { sleep } from '../../src/base/abort.js';
import { MemoryStore } from '../../src/store/memory.js';
import { decorate } from '../../src/store/open-store.js';
import { StallGuardedStore } from '../../src/store/stall.js';
import { codeOf, keysOf, pattern, put, readAll } from './conformance/material.js';
import { type Fault, FaultyStore } from './faulty.js';

const CONTENT = pattern(400_000);

async function guarded(silenceMs: number, fault: Fault) {
  const memory = new MemoryStore();
  await memory.putBytes('v2/a', CONTENT);
  await put(memory, 'v2/b');
  return new StallGuardedStore(new FaultyStore(memory, [{ on: 'any', fault }]), { silenceMs });
}

it('ends what hangs with TIMEOUT, at any byte', async () => {
  for (const atByte of [undefined, 0, 200_000]) {
    const store = await guarded(30, { kind: 'hang', ...(atByte === undefined ? {} : { atByte }) });
    expect(await codeOf(readAll(store, 'v2/a'))).toBe('TIMEOUT');
    expect(await codeOf(store.head('v2/a'))).toBe('TIMEOUT');
    expect(await codeOf(store.putBytes('v2/c', CONTENT))).toBe('TIMEOUT');
    expect(await codeOf(store.delete('v2/a'))).toBe('TIMEOUT');
  }
  expect(await codeOf(keysOf(await guarded(30, { kind: 'hang', atByte: 1 })))).toBe('TIMEOUT');
});

it('lets a slow body take its time, and its consumer too', async () => {
  const slow = await guarded(500, { kind: 'slow', delayMs: 100 });
  expect((await readAll(slow, 'v2/a')).equals(CONTENT)).toBe(true);
  const quick = await guarded(30, { kind: 'small', chunkBytes: 100_000 });
  let got = 0;
  for await (const chunk of quick.get('v2/a')) {
    await sleep(60);
    got += chunk.length;
  }
  expect(got).toBe(CONTENT.length);
});

it('is repeated by the store as it is opened: a hanging body goes on where it hung', async () => {
  const memory = new MemoryStore();
  await memory.putBytes('v2/a', CONTENT);
  const fault = { kind: 'hang', atByte: 123_456 } as const;
  const faulty = new FaultyStore(memory, [{ on: 'get', times: 2, fault }]);
  const retry = { tries: 3, backoff: { firstMs: 1, factor: 1, maxMs: 1, jitter: 0 } };
  const store = decorate(faulty, { silenceMs: 40, retry, operations: 1 });
  expect((await readAll(store, 'v2/a')).equals(CONTENT)).toBe(true);
  expect(faulty.calls).toHaveLength(3);
});
