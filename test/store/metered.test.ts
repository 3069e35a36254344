import { expect, it } from 'vitest';
import { sleep } from '../../src/base/abort.js';
import { MemoryStore } from '../../src/store/memory.js';
import { MeteredStore, type StoreSink } from '../../src/store/metered.js';
import { codeOf, keysOf, pattern, readAll } from './conformance/material.js';

it('counts operations, outcomes and bytes, and not the time of the consumer', async () => {
  const events: Parameters<StoreSink['operation']>[0][] = [];
  const memory = new MemoryStore({ chunkBytes: 100 });
  const store = new MeteredStore(memory, { operation: (event) => events.push(event) });
  await store.putBytes('v2/a', pattern(250));
  await store.putBytes('v2/a', pattern(250));
  await readAll(store, 'v2/a');
  for await (const chunk of store.get('v2/a')) {
    expect(chunk).toHaveLength(100);
    await sleep(50);
    break;
  }
  await keysOf(store);
  await codeOf(store.head('v2/missing'));
  await codeOf(readAll(store, 'v2/missing'));
  await store.delete('v2/a');
  expect(events.map(({ operation, outcome, bytes }) => [operation, outcome, bytes])).toEqual([
    ['put', 'ok', 250],
    ['put', 'ok', 0],
    ['get', 'ok', 250],
    ['get', 'left', 100],
    ['list', 'ok', 0],
    ['head', 'NOT_FOUND', 0],
    ['get', 'NOT_FOUND', 0],
    ['delete', 'ok', 0],
  ]);
  expect(events[3]?.durationMs).toBeLessThan(40);
});
