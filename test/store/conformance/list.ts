import { expect, it } from 'vitest';
import { compareKeys } from '../../../src/store/key.js';
import type { Bench } from '../conformance.js';
import { codeOf, keysOf, put } from './material.js';

const MANY = 10_500;

export function describeList(bench: Bench): void {
  it('holds nothing before the first put', async () => {
    expect(await keysOf(bench.store)).toEqual([]);
    expect(await keysOf(bench.store, 'v2/manifest')).toEqual([]);
  });

  it('matches a prefix by whole path elements (hazard 35)', async () => {
    const keys = [
      'etcd-main-2/v2/b',
      'etcd-main.old/v2/c',
      'etcd-main/v2/a',
      'etcd-main/v2/manifest/a.json',
      'etcd/v2/d',
    ];
    await put(bench.store, ...keys);
    expect(await keysOf(bench.store, 'etcd-main')).toEqual([
      'etcd-main/v2/a',
      'etcd-main/v2/manifest/a.json',
    ]);
    expect(await keysOf(bench.store, 'etcd-main/v2')).toEqual([
      'etcd-main/v2/a',
      'etcd-main/v2/manifest/a.json',
    ]);
    expect(await keysOf(bench.store, 'etcd-main/v2/manifest')).toEqual(['etcd-main/v2/manifest/a.json']);
    expect(await keysOf(bench.store, 'etcd-main-2')).toEqual(['etcd-main-2/v2/b']);
    expect(await keysOf(bench.store, 'etcd-mai')).toEqual([]);
    expect(await keysOf(bench.store, 'etcd-main/v2/a')).toEqual([]);
    expect(await keysOf(bench.store)).toEqual(keys);
  });

  it('is ordered by the bytes of whole keys', async () => {
    const keys = [
      'a-b',
      'a.b',
      'a/b',
      'a/b-c',
      'a/c/d',
      'a0',
      'a~',
      'aa',
      'A',
      'é',
      '\uFFFC',
      '\u{1F600}',
      'z',
    ];
    await put(bench.store, ...keys);
    const byBytes = [...keys].sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
    expect(await keysOf(bench.store)).toEqual(byBytes);
  });

  it('begins behind any key', async () => {
    const keys = ['a', 'b-c', 'b/c', 'b/d/e', 'b/d/f', 'b/g', 'b0', 'c'];
    await put(bench.store, ...keys);
    for (const after of [...keys, '', 'b', 'b/', 'b/d', 'b/d/', 'b/d/ee', 'b/z', 'bb', 'zz', '\u{10FFFF}']) {
      const all = keys.filter((key) => compareKeys(key, after) > 0);
      expect(await keysOf(bench.store, '', { after }), `after ${after}`).toEqual(all);
      const below = all.filter((key) => key.startsWith('b/'));
      expect(await keysOf(bench.store, 'b', { after }), `in b after ${after}`).toEqual(below);
    }
  });

  it('lists odd names next to good ones (hazard 34)', async () => {
    const odd = [
      "Stest':%bad",
      '100%25',
      'lost+found',
      'name with spaces',
      'test:with:colons',
      `${'x'.repeat(255)}`,
    ];
    odd.push(
      ';/',
      'back\\slash',
      'new\nline',
      'tab\t',
      '*?[x]',
      '"quoted"',
      '$HOME',
      '#?&=',
      'CON',
      '~',
      '-rf',
    );
    const keys = odd
      .map((name) => `v2/${name.replaceAll('/', ':')}`)
      .concat('v2/Full-00000000-00000001-1700000000');
    await put(bench.store, ...keys);
    expect(await keysOf(bench.store, 'v2')).toEqual(keys.sort(compareKeys));
    for (const key of keys) {
      expect((await bench.store.head(key)).key).toBe(key);
      await bench.store.delete(key);
    }
    expect(await keysOf(bench.store)).toEqual([]);
  });

  it('goes through all pages', async () => {
    const keys: string[] = [];
    for (let at = 0; at < MANY; at++) keys.push(`v2/Incr-${String(at * 10).padStart(8, '0')}`);
    await bench.fill(['v1/before', ...keys, 'v3/behind']);
    expect(await keysOf(bench.store, 'v2')).toEqual(keys);
    expect(await keysOf(bench.store, 'v2', { after: keys[MANY - 3] })).toEqual(keys.slice(-2));
    expect(await keysOf(bench.store)).toHaveLength(MANY + 2);
  });

  it('shows every untouched object once while others come and go', async () => {
    const keys: string[] = [];
    for (let at = 0; at < 2500; at++) keys.push(`v2/obj-${String(at).padStart(5, '0')}`);
    await bench.fill(keys);
    const seen: string[] = [];
    const gone = new Set<string>();
    for await (const { key } of bench.store.list('v2')) {
      seen.push(key);
      if (seen.length % 250 !== 0) continue;
      const [behind, ahead] = [keys[seen.length - 200], keys[seen.length + 120]];
      for (const touched of [behind, ahead]) {
        if (touched === undefined) continue;
        gone.add(touched);
        await bench.store.delete(touched);
      }
      await bench.store.putBytes(`v2/new-${seen.length}`, Buffer.from('new'));
      await bench.store.putBytes(`v2/zzz-${seen.length}`, Buffer.from('new'));
    }
    const untouched = seen.filter((key) => key.startsWith('v2/obj-') && !gone.has(key));
    expect(untouched).toEqual(keys.filter((key) => !gone.has(key)));
    expect(new Set(seen).size).toBe(seen.length);
  });

  it('can be left early, and consumed while objects are got', async () => {
    await put(bench.store, 'v2/a', 'v2/b', 'v2/c');
    for await (const { key } of bench.store.list('v2')) {
      expect(key).toBe('v2/a');
      break;
    }
    for await (const { key } of bench.store.list('v2')) {
      expect(await codeOf(bench.store.head(key))).toBe('no error');
    }
  });
}
