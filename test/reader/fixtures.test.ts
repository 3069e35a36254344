/** Every set of the Go tool's and every snapshot of a real etcd, read without one: the keys that their source had. */
import { readFile, writeFile } from 'node:fs/promises';
import { gunzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { packFull } from '../../src/native/index.js';
import { FileReader } from '../../src/reader/file-reader.js';
import { fixture } from '../restorer/request.js';
import { testDir } from '../restorer/set-up.js';
import { sourceTruth } from '../restorer/source-truth.js';
import { ALL, byKey, one, rowsOf, storeReader } from './readers.js';

const SETS = [
  'gardener-compacted-etcd3.5',
  'gardener-gzip-etcd3.5',
  'gardener-lzw-etcd3.7',
  'gardener-plain-etcd3.4',
  'gardener-prefixed-etcd3.6',
  'gardener-two-writers-etcd3.5',
  'gardener-zlib-etcd3.6',
];
const SNAPSHOTS = ['etcd-3.4', 'etcd-3.5', 'etcd-3.6', 'etcd-3.7'];
const dir = testDir('reader-fixtures');

test.each(SETS)('%s', async (set) => {
  const truth = await sourceTruth(set);
  const reader = await storeReader(
    fixture(`${set}/store${set.includes('prefixed') ? '/team/cluster-a/v2' : ''}`),
  );
  const answer = await reader.state(ALL, undefined, {});
  expect(answer.revision).toBe(truth.revision);
  expect(byKey(await rowsOf(answer))).toEqual(truth.keys);
  for (const [key, expected] of [...truth.keys].filter((_, index) => index % 97 === 0)) {
    const rows = await rowsOf(reader.state(one(Buffer.from(key, 'latin1')), undefined, {}));
    expect(byKey(rows)).toEqual(new Map([[key, expected]]));
  }
  await reader.close();
});

describe.each(SNAPSHOTS)('a snapshot of %s', (set) => {
  test.each(['none', 'zstd', 'gzip', 'lzw'] as const)('packed with %s', async (codec) => {
    const truth = await sourceTruth(set);
    const plain = dir.in('snapshot.db');
    await writeFile(plain, gunzipSync(await readFile(fixture(`${set}/snapshot.db.gz`))));
    const path = codec === 'none' ? plain : dir.in(`snapshot.${codec}`);
    if (codec !== 'none') await packFull({ source: plain, target: path, codec });
    const reader = new FileReader({ op: 'get', path, tempDir: dir.path });
    const answer = await reader.state(ALL, undefined, {});
    expect(answer.revision).toBe(truth.revision);
    expect(byKey(await rowsOf(answer))).toEqual(truth.keys);
    const [key = '', expected] = [...truth.keys].at(-1) ?? [];
    expect(byKey(await rowsOf(reader.state(one(Buffer.from(key, 'latin1')), undefined, {})))).toEqual(
      new Map([[key, expected]]),
    );
  });
});
