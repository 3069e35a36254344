import { expect, it } from 'vitest';
import type { Bench } from '../conformance.js';
import { codeOf, keysOf, readAll, sourceFile } from './material.js';

const BAD_KEYS = [
  '/',
  'a/',
  '/a',
  'a//b',
  '.',
  '..',
  '../a',
  'a/../../b',
  'a/..',
  './a',
  '.hidden',
  'a/.tmp-b',
  '.dir/a',
  'nul\0byte',
  'half\uD800',
  'x'.repeat(256),
  `${'x/'.repeat(512)}y`,
];

export function describeKeys(bench: Bench): void {
  it('refuses keys that could leave the root, hide, or fit nowhere', async () => {
    const file = await sourceFile(bench, 10);
    for (const key of ['', ...BAD_KEYS]) {
      const shown = JSON.stringify(key.slice(0, 20));
      expect(await codeOf(bench.store.putBytes(key, Buffer.from('x'))), shown).toBe('USAGE');
      expect(await codeOf(bench.store.putFile(key, file.path, file.stated)), shown).toBe('USAGE');
      expect(await codeOf(bench.store.head(key)), shown).toBe('USAGE');
      expect(await codeOf(readAll(bench.store, key)), shown).toBe('USAGE');
      expect(await codeOf(bench.store.delete(key)), shown).toBe('USAGE');
    }
    expect(await keysOf(bench.store)).toEqual([]);
  });

  it('refuses such prefixes', async () => {
    for (const prefix of BAD_KEYS) {
      expect(await codeOf(keysOf(bench.store, prefix))).toBe('USAGE');
      expect(await codeOf(bench.store.cleanUp(prefix))).toBe('USAGE');
    }
  });

  it('takes the longest key', async () => {
    const key = `${'d'.repeat(255)}/${'e'.repeat(255)}/${'f'.repeat(255)}/${'é'.repeat(127)}g`;
    await bench.store.putBytes(key, Buffer.from('deep'));
    expect(String(await readAll(bench.store, key))).toBe('deep');
    expect(await keysOf(bench.store)).toEqual([key]);
  });
}
