/** Hazard 7: a bucket with 504,438 objects, of which the newest are on the last page. */
import { expect, it } from 'vitest';
import { MemoryStore } from '../../src/store/memory.js';
import { decorate } from '../../src/store/open-store.js';

const OBJECTS = 504_438;
const LIST_BOUND_MS = 20_000;
/** A listing that gathered its objects would need more than 100 bytes for each. */
const LIST_BOUND_BYTES = 40 * 1024 * 1024;

it('lists 504,438 objects to the newest, in bounded memory and time', async () => {
  const memory = new MemoryStore();
  const content = Buffer.alloc(0);
  const last = keyOf(OBJECTS - 1);
  for (let at = 0; at < OBJECTS; at++) await memory.putBytes(keyOf((at * 7919) % OBJECTS), content);
  // The first listing builds the index of the double itself.
  for await (const { key } of memory.list('v2', { after: last })) expect(key).toBe('none');
  const store = decorate(memory);
  const before = process.memoryUsage().heapUsed;
  const startMs = performance.now();
  let most = 0;
  let seen = 0;
  let newest = '';
  for await (const { key } of store.list('v2')) {
    if (key <= newest) throw new Error(`${key} after ${newest}`);
    newest = key;
    seen += 1;
    if (seen % 50_000 === 0) most = Math.max(most, process.memoryUsage().heapUsed - before);
  }
  expect(seen).toBe(OBJECTS);
  expect(newest).toBe(last);
  expect(performance.now() - startMs).toBeLessThan(LIST_BOUND_MS);
  expect(most).toBeLessThan(LIST_BOUND_BYTES);
}, 120_000);

function keyOf(at: number): string {
  const first = String(at * 100 + 1).padStart(8, '0');
  const last = String(at * 100 + 100).padStart(8, '0');
  return `v2/Incr-${first}-${last}-${1_534_000_000 + at}.gz`;
}
