import { expect, it } from 'vitest';
import { MAX_CHUNK_BYTES } from '../../../src/store/store.js';
import type { Bench } from '../conformance.js';
import { codeOf, pattern, put, readAll, same, sourceFile } from './material.js';

export function describeRead(bench: Bench): void {
  it('answers NOT_FOUND for what is not there, in get at the first chunk', async () => {
    await put(bench.store, 'v2/there/below');
    for (const key of [
      'v2/missing',
      'v2/there/missing',
      'v2/there/below/under',
      'v2/there',
      'nothing/of/it',
    ]) {
      expect(await codeOf(bench.store.head(key))).toBe('NOT_FOUND');
      const body = bench.store.get(key);
      expect(await codeOf(body[Symbol.asyncIterator]().next())).toBe('NOT_FOUND');
    }
  });

  it('has something to say about where it is', () => {
    expect(bench.store.location).not.toBe('');
  });

  it('gives the bytes of a range', async () => {
    const bytes = 700_001;
    const file = await sourceFile(bench, bytes);
    await bench.store.putFile('v2/ranged', file.path, file.stated);
    const ranges = [
      { offset: 0 },
      { offset: 0, bytes: 0 },
      { offset: 0, bytes: 1 },
      { offset: 1, bytes: 262_144 },
      { offset: 262_143, bytes: 2 },
      { offset: bytes - 1 },
      { offset: bytes - 1, bytes: 100 },
      { offset: bytes - 64 },
      { offset: bytes },
      { offset: bytes, bytes: 1 },
      { offset: bytes + 1_000_000 },
      { offset: 5, bytes: 10 * bytes },
    ];
    for (const range of ranges) {
      const end = range.bytes === undefined ? bytes : range.offset + range.bytes;
      const got = await readAll(bench.store, 'v2/ranged', { range });
      expect(got.equals(file.content.subarray(range.offset, end)), JSON.stringify(range)).toBe(true);
    }
  });

  it('refuses a range that cannot be', async () => {
    await put(bench.store, 'v2/a');
    for (const range of [{ offset: -1 }, { offset: 0.5 }, { offset: 0, bytes: -1 }, { offset: Number.NaN }]) {
      expect(await codeOf(readAll(bench.store, 'v2/a', { range }))).toBe('INTERNAL');
    }
  });

  it('hands over chunks within bounds that belong to the caller', async () => {
    const file = await sourceFile(bench, 2_500_000);
    await bench.store.putFile('v2/chunks', file.path, file.stated);
    const kept: Uint8Array[] = [];
    for await (const chunk of bench.store.get('v2/chunks')) {
      expect(chunk.length).toBeGreaterThan(0);
      expect(chunk.length).toBeLessThanOrEqual(MAX_CHUNK_BYTES);
      kept.push(new Uint8Array(chunk));
      chunk.fill(0);
    }
    expect(Buffer.concat(kept).equals(file.content)).toBe(true);
    expect(same(await readAll(bench.store, 'v2/chunks'), file.content)).toBe(true);
  });

  it('gives the same bytes to who is done with each chunk before the next', async () => {
    const file = await sourceFile(bench, 2_500_000);
    await bench.store.putFile('v2/reused', file.path, file.stated);
    expect(same(await readAll(bench.store, 'v2/reused', { reuseBuffer: true }), file.content)).toBe(true);
    const range = { offset: 300_000, bytes: 600_001 };
    const part = await readAll(bench.store, 'v2/reused', { reuseBuffer: true, range });
    expect(same(part, file.content.subarray(300_000, 900_001))).toBe(true);
  });

  it('serves many readers of one object at their own pace', async () => {
    const file = await sourceFile(bench, 1_200_000);
    await bench.store.putFile('v2/shared', file.path, file.stated);
    const offsets = [0, 1, 1000, 600_000, 1_199_999];
    const reads = offsets.map((offset) => readAll(bench.store, 'v2/shared', { range: { offset } }));
    for (const [at, got] of (await Promise.all(reads)).entries()) {
      expect(got.equals(file.content.subarray(offsets[at]))).toBe(true);
    }
  });

  it('can be left early, again and again', async () => {
    const file = await sourceFile(bench, 3_000_000);
    await bench.store.putFile('v2/left', file.path, file.stated);
    for (let round = 0; round < 50; round++) {
      for await (const chunk of bench.store.get('v2/left')) {
        expect(chunk.length).toBeGreaterThan(0);
        break;
      }
    }
    expect(same(await readAll(bench.store, 'v2/left'), file.content)).toBe(true);
  });

  it('goes on reading what is deleted meanwhile, or fails, but never ends short', async () => {
    const file = await sourceFile(bench, 3_000_000);
    await bench.store.putFile('v2/going', file.path, file.stated);
    let got = 0;
    const read = async () => {
      for await (const chunk of bench.store.get('v2/going')) {
        if (got === 0) await bench.store.delete('v2/going');
        got += chunk.length;
      }
    };
    const code = await codeOf(read());
    if (code === 'no error') expect(got).toBe(file.stated.bytes);
    else expect(code).toBe('NOT_FOUND');
    expect(pattern(3_000_000).equals(file.content)).toBe(true);
  });
}
