import { beforeEach, expect, it } from 'vitest';
import { MemoryStore } from '../../src/store/memory.js';
import { type Retry, RetryingStore, type RetryOptions } from '../../src/store/retry.js';
import { codeOf, keysOf, pattern, put, readAll } from './conformance/material.js';
import { type FaultRule, FaultyStore } from './faulty.js';

const KEY = 'v2/object';
const CONTENT = pattern(3_000_000);
let retries: Retry[];
let memory: MemoryStore;
let options: RetryOptions;

beforeEach(async () => {
  retries = [];
  memory = new MemoryStore();
  options = {
    tries: 4,
    backoff: { firstMs: 1, factor: 2, maxMs: 3, jitter: 0 },
    onRetry: (retry) => retries.push(retry),
  };
  await memory.putBytes(KEY, CONTENT);
});

function retrying(...rules: FaultRule[]) {
  const faulty = new FaultyStore(memory, rules);
  return { faulty, store: new RetryingStore(faulty, options) };
}

it('goes on at the byte where a body broke', async () => {
  const at = (atByte: number): FaultRule => ({
    on: 'get',
    times: 1,
    fault: { kind: 'error', code: 'UNAVAILABLE', atByte },
  });
  const { store, faulty } = retrying(at(1), at(1_234_567), at(2_999_999));
  expect((await readAll(store, KEY)).equals(CONTENT)).toBe(true);
  expect(faulty.calls).toHaveLength(4);
  const range = { offset: 1_000_000, bytes: 500_000 };
  const ranged = retrying(at(1_200_000)).store;
  expect((await readAll(ranged, KEY, { range })).equals(CONTENT.subarray(1_000_000, 1_500_000))).toBe(true);
});

it('counts failures anew after progress, and not after a trickle', async () => {
  const broken: FaultRule = {
    on: 'get',
    probability: 1,
    fault: { kind: 'error', code: 'TIMEOUT', atByte: 1 },
  };
  // Each try gives up at once, since every body is already past byte 1.
  const { store, faulty } = retrying(broken);
  expect(await codeOf(readAll(store, KEY))).toBe('TIMEOUT');
  expect(faulty.calls).toHaveLength(4);
  const steps = [1, 2].map((megabytes) => megabytes * 1_200_000);
  const rules = steps.flatMap((atByte): FaultRule[] => [
    { on: 'get', times: 3, fault: { kind: 'error', code: 'UNAVAILABLE', atByte } },
  ]);
  expect((await readAll(retrying(...rules).store, KEY)).equals(CONTENT)).toBe(true);
});

it('gives up after a bounded number of tries and says so', async () => {
  const { store, faulty } = retrying({ on: 'head', fault: { kind: 'error', code: 'UNAVAILABLE' } });
  await expect(store.head(KEY)).rejects.toThrow(
    'store head: v2/object: injected by the test; gave up after 4 tries',
  );
  expect(faulty.calls).toHaveLength(4);
  expect(retries.map(({ failed, waitMs }) => [failed, waitMs])).toEqual([
    [1, 1],
    [2, 2],
    [3, 3],
  ]);
});

it('does not repeat what will not get better by itself', async () => {
  for (const code of [
    'NOT_FOUND',
    'EXISTS',
    'NO_SPACE',
    'PERMISSION',
    'READ_ONLY',
    'CHECKSUM',
    'IO',
  ] as const) {
    const { store, faulty } = retrying({ on: 'any', fault: { kind: 'error', code } });
    expect(await codeOf(store.putBytes('v2/new', Buffer.from('x')))).toBe(code);
    expect(await codeOf(readAll(store, KEY))).toBe(code);
    expect(faulty.calls).toHaveLength(2);
  }
});

it('takes a put whose answer was lost for what it is', async () => {
  const { store } = retrying({ on: 'put', times: 1, fault: { kind: 'lostReply', code: 'TIMEOUT' } });
  expect(await store.putBytes('v2/new', Buffer.from('once'))).toEqual({ existed: true });
  expect(String(await readAll(memory, 'v2/new'))).toBe('once');
});

it('goes on with a listing behind the last key', async () => {
  await put(memory, 'v2/a', 'v2/b', 'v2/c');
  const { store } = retrying(
    { on: 'list', times: 1, fault: { kind: 'error', code: 'UNAVAILABLE', atByte: 2 } },
    { on: 'list', times: 1, fault: { kind: 'lostReply', code: 'UNAVAILABLE' } },
  );
  expect(await keysOf(store, 'v2')).toEqual(['v2/a', 'v2/b', 'v2/c', KEY]);
});

it('stops waiting when its caller leaves', async () => {
  options = { ...options, backoff: { firstMs: 60_000, factor: 1, maxMs: 60_000, jitter: 0 } };
  const { store } = retrying({ on: 'any', fault: { kind: 'error', code: 'UNAVAILABLE' } });
  const signal = AbortSignal.timeout(20);
  const startMs = performance.now();
  expect(await codeOf(store.head(KEY, { signal }))).toBe('CANCELLED');
  expect(performance.now() - startMs).toBeLessThan(5000);
});
