import { appendFile, rm } from 'node:fs/promises';
import { expect, it } from 'vitest';
import { MAX_PUT_BYTES } from '../../../src/store/store.js';
import type { Bench } from '../conformance.js';
import { codeOf, keysOf, pattern, put, readAll, same, sha256, sourceFile } from './material.js';

const BIG_BYTES = 64 * 1024 * 1024;

export function describePut(bench: Bench): void {
  it('puts small content and gives it back, in head and list too', async () => {
    const before = Date.now();
    const content = Buffer.from('{"revision":"42"}');
    expect(await bench.store.putBytes('v2/manifest/a.json', content)).toEqual({ existed: false });
    expect(same(await readAll(bench.store, 'v2/manifest/a.json'), content)).toBe(true);
    const head = await bench.store.head('v2/manifest/a.json');
    expect(head).toMatchObject({ key: 'v2/manifest/a.json', bytes: content.length });
    expect([undefined, sha256(content)]).toContain(head.sha256);
    expect(Math.abs(head.modifiedMs - before)).toBeLessThan(60_000);
    for await (const object of bench.store.list('v2')) {
      expect(object).toEqual({ key: head.key, bytes: head.bytes, modifiedMs: head.modifiedMs });
    }
  });

  it('puts a file and tells of its progress', async () => {
    const file = await sourceFile(bench, 3 * 1024 * 1024 + 1);
    const seen: number[] = [];
    const onProgress = (bytes: number) => seen.push(bytes);
    const result = await bench.store.putFile('v2/Full-a', file.path, { ...file.stated, onProgress });
    expect(result).toEqual({ existed: false });
    expect(same(await readAll(bench.store, 'v2/Full-a'), file.content)).toBe(true);
    expect(seen.at(-1)).toBe(file.stated.bytes);
    expect(seen).toEqual([...seen].sort((a, b) => a - b));
  });

  it('holds empty objects, from memory and from a file', async () => {
    const file = await sourceFile(bench, 0);
    await bench.store.putBytes('v2/empty-a', Buffer.alloc(0));
    await bench.store.putFile('v2/empty-b', file.path, file.stated);
    for (const key of ['v2/empty-a', 'v2/empty-b']) {
      expect((await bench.store.head(key)).bytes).toBe(0);
      expect(await readAll(bench.store, key)).toHaveLength(0);
      expect(await readAll(bench.store, key, { range: { offset: 0, bytes: 10 } })).toHaveLength(0);
    }
    expect(await keysOf(bench.store)).toEqual(['v2/empty-a', 'v2/empty-b']);
  });

  it('takes equal content for success and never replaces other content', async () => {
    const file = await sourceFile(bench, 100_000);
    const sameSize = await sourceFile(bench, 100_000, 2);
    const longer = await sourceFile(bench, 100_001);
    await bench.store.putFile('v2/one', file.path, file.stated);
    expect(await bench.store.putFile('v2/one', file.path, file.stated)).toEqual({ existed: true });
    expect(await bench.store.putBytes('v2/one', file.content)).toEqual({ existed: true });
    for (const other of [sameSize, longer]) {
      expect(await codeOf(bench.store.putFile('v2/one', other.path, other.stated))).toBe('EXISTS');
      expect(await codeOf(bench.store.putBytes('v2/one', other.content))).toBe('EXISTS');
    }
    expect(await codeOf(bench.store.putBytes('v2/one', Buffer.alloc(0)))).toBe('EXISTS');
    expect(same(await readAll(bench.store, 'v2/one'), file.content)).toBe(true);
    expect(await keysOf(bench.store)).toEqual(['v2/one']);
  });

  it('lets exactly one of many concurrent puts of one name win', async () => {
    const writers = await Promise.all(
      [1, 2, 3, 4, 5, 6, 7, 8].map((seed) => sourceFile(bench, 300_000, seed)),
    );
    const puts = writers.map((file) => codeOf(bench.store.putFile('v2/raced', file.path, file.stated)));
    const codes = await Promise.all(puts);
    expect([...codes].sort()).toEqual([...new Array(7).fill('EXISTS'), 'no error']);
    expect(same(await readAll(bench.store, 'v2/raced'), writers[codes.indexOf('no error')]?.content)).toBe(
      true,
    );
  });

  it('lets all concurrent puts of equal content succeed, one of them as the first', async () => {
    const file = await sourceFile(bench, 300_000);
    const puts = [1, 2, 3, 4].map(() => bench.store.putFile('v2/same', file.path, file.stated));
    const existed = (await Promise.all(puts)).map((result) => result.existed);
    expect(existed.filter((one) => !one)).toHaveLength(1);
  });

  it('refuses a file that is not what was stated, and shows nothing of it', async () => {
    const file = await sourceFile(bench, 2_000_000);
    const otherDigest = { ...file.stated, sha256: sha256(Buffer.from('other')) };
    expect(await codeOf(bench.store.putFile('v2/x', file.path, otherDigest))).toBe('CHECKSUM');
    const tooShort = { ...file.stated, bytes: file.stated.bytes + 1 };
    expect(await codeOf(bench.store.putFile('v2/x', file.path, tooShort))).toBe('TRUNCATED');
    await appendFile(file.path, 'grown');
    expect(await codeOf(bench.store.putFile('v2/x', file.path, file.stated))).toBe('TRUNCATED');
    expect(await codeOf(bench.store.head('v2/x'))).toBe('NOT_FOUND');
    expect(await keysOf(bench.store)).toEqual([]);
  });

  it('never says NOT_FOUND of a file that cannot be read', async () => {
    const stated = { bytes: 1, sha256: sha256(Buffer.alloc(1)) };
    for (const path of [`${bench.dir}/missing`, bench.dir]) {
      expect(['IO', 'TRUNCATED']).toContain(await codeOf(bench.store.putFile('v2/x', path, stated)));
    }
    expect(await keysOf(bench.store)).toEqual([]);
  });

  it('keeps an object whose file it may take, whatever becomes of the name', async () => {
    const file = await sourceFile(bench, 1_500_000);
    const seen: number[] = [];
    const onProgress = (bytes: number) => seen.push(bytes);
    await bench.store.putFile('v2/taken', file.path, { ...file.stated, mayTake: true, onProgress });
    await rm(file.path, { force: true });
    expect(same(await readAll(bench.store, 'v2/taken'), file.content)).toBe(true);
    expect(seen.at(-1)).toBe(file.stated.bytes);
  });

  it('does not hold on to the memory of a small put', async () => {
    const content = Buffer.from('before');
    await bench.store.putBytes('v2/small', content);
    content.write('after!');
    expect(String(await readAll(bench.store, 'v2/small'))).toBe('before');
  });

  it('refuses large content from memory', async () => {
    expect(await codeOf(bench.store.putBytes('v2/large', Buffer.alloc(MAX_PUT_BYTES + 1)))).toBe('INTERNAL');
    expect(await keysOf(bench.store)).toEqual([]);
  });

  it('streams a big object in and out', async () => {
    const file = await sourceFile(bench, BIG_BYTES);
    await bench.store.putFile('v2/big', file.path, file.stated);
    let at = 0;
    for await (const chunk of bench.store.get('v2/big')) {
      if (!file.content.subarray(at, at + chunk.length).equals(chunk)) throw new Error(`differs after ${at}`);
      at += chunk.length;
    }
    expect(at).toBe(BIG_BYTES);
    expect((await bench.store.head('v2/big')).bytes).toBe(BIG_BYTES);
  });

  it('deletes, also what is not there, and a deleted name is free for other content', async () => {
    await put(bench.store, 'v2/a', 'v2/b');
    await bench.store.delete('v2/a');
    await bench.store.delete('v2/a');
    await bench.store.delete('v2/never/was');
    expect(await codeOf(bench.store.head('v2/a'))).toBe('NOT_FOUND');
    expect(await keysOf(bench.store)).toEqual(['v2/b']);
    await bench.store.putBytes('v2/a', pattern(10));
    expect(same(await readAll(bench.store, 'v2/a'), pattern(10))).toBe(true);
  });

  it('does not touch objects when it cleans up', async () => {
    await put(bench.store, 'v1/a', 'v2/a', 'v2/manifest/a.json');
    expect(await bench.store.cleanUp('')).toEqual({ removed: 0, bytes: 0 });
    expect(await bench.store.cleanUp('v3')).toEqual({ removed: 0, bytes: 0 });
    expect(await keysOf(bench.store)).toEqual(['v1/a', 'v2/a', 'v2/manifest/a.json']);
  });
}
