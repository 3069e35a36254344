import { expect, test } from 'vitest';
import { parseName } from '../../src/snapshot/name.js';
import { findChain, MAX_CHAIN_DELTAS, readStoredChain } from '../../src/snapshotter/stored-chain.js';
import { MemoryStore } from '../../src/store/memory.js';

function objects(...names: string[]) {
  return names.map((text) => {
    const parsed = parseName(text);
    if (!parsed.ok) throw new Error(`${text} ${parsed.reason}`);
    return { key: `v2/${text}`, name: parsed.name, bytes: 1 };
  });
}

function outline(...names: string[]) {
  const chain = findChain(objects(...names));
  return chain && { full: chain.full.name.text, tip: chain.tip.name.text, missing: chain.missing };
}

const full = 'Full-00000000-00000100-1000.zst';

test.each<[what: string, names: string[], tip: string | undefined, missing: bigint | undefined]>([
  ['nothing', [], undefined, undefined],
  ['deltas without a full', ['Incr-00000001-00000100-900.ebd'], undefined, undefined],
  ['a full', [full], full, undefined],
  [
    'a chain',
    ['Incr-00000101-00000150-1010.ebd', full, 'Incr-00000151-00000160-1020.ebd'],
    'Incr-00000151-00000160-1020.ebd',
    undefined,
  ],
  [
    'a delta that began before the full was opened and was cut after it',
    [full, 'Incr-00000080-00000120-1005.ebd', 'Incr-00000121-00000130-1010.ebd'],
    'Incr-00000121-00000130-1010.ebd',
    undefined,
  ],
  [
    'two writers at a hand-off',
    [
      full,
      'Incr-00000101-00000140-1005.ebd',
      'Incr-00000101-00000150-1006.ebd',
      'Incr-00000141-00000145-1007.ebd',
    ],
    'Incr-00000101-00000150-1006.ebd',
    undefined,
  ],
  [
    'a hole: what lies behind it is no end to continue from',
    [full, 'Incr-00000101-00000110-1005.ebd', 'Incr-00000121-00000130-1010.ebd'],
    'Incr-00000101-00000110-1005.ebd',
    111n,
  ],
  [
    'an older timeline that reached higher (hazard 44): its deltas were cut before the newest full',
    ['Full-00000000-00000500-500.zst', 'Incr-00000501-00000900-600.ebd', full],
    full,
    undefined,
  ],
])('%s', (_what, names, tip, missing) => {
  const expected = tip === undefined ? undefined : { full, tip, missing };
  expect(outline(...names)).toEqual(expected);
  expect(outline(...[...names].reverse())).toEqual(expected);
});

test('formats that end the restore of the Go tool are seen', () => {
  const goFull = 'Full-00000000-00000100-1000.gz';
  expect(findChain(objects(goFull, 'Incr-00000101-00000110-1005.gz'))?.ownFormats).toBe(false);
  expect(findChain(objects(goFull, 'Incr-00000101-00000110-1005.ebd'))?.ownFormats).toBe(true);
  expect(findChain(objects(full))?.ownFormats).toBe(true);
});

test('a set with more deltas than are looked at is not continued', () => {
  const names = Array.from({ length: MAX_CHAIN_DELTAS + 1 }, (_, at) => {
    const revision = String(101 + at).padStart(8, '0');
    return `Incr-${revision}-${revision}-${2_000 + at}.ebd`;
  });
  const many = names.flatMap((name) => objects(name));
  expect(findChain([...objects(full), ...many])?.missing).toBe(BigInt(101 + MAX_CHAIN_DELTAS));
});

test('a store is read past odd names, unfinished files and manifests; v1 counts', async () => {
  const store = new MemoryStore();
  const keys = [
    'v1/Backup-900/Full-00000000-00000050-900.gz',
    `v2/${full}`,
    'v2/Incr-00000101-00000110-1005.ebd',
    'v2/Full-00000000-00000999-2000.gz.tmp',
    'v2/lost+found',
    `v2/manifest/${full}.json`,
  ];
  for (const key of keys) await store.putBytes(key, Buffer.from(key));
  const chain = await readStoredChain(store);
  expect(chain).toMatchObject({
    full: { key: `v2/${full}` },
    tip: { key: 'v2/Incr-00000101-00000110-1005.ebd' },
  });
});
