/** Equal numbers do not make equal histories (hazard 44): the store's last record must stand in the database. */
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, expect, it } from 'vitest';
import { inspectDb } from '../../../src/native/index.js';
import { formatManifest, type LastRecord } from '../../../src/snapshot/manifest.js';
import { testDir } from '../../restorer/set-up.js';
import { judge, unpackDataDir } from './set-up.js';

const dir = testDir('data-dir-history');
let dataDir: string;
let own: LastRecord;
beforeEach(async () => {
  dataDir = await unpackDataDir('etcd-3.7', dir.in('var'));
  const { lastRecord } = await inspectDb(join(dataDir, 'member', 'snap', 'db'));
  if (lastRecord === null) throw new Error('the fixture is empty');
  const { key, main, tombstone, sha256 } = lastRecord;
  own = { keyBase64: key.toString('base64'), modRevision: main, tombstone, sha256 };
});

async function storeEndingWith(lastRecord: LastRecord): Promise<string> {
  const { modRevision: revision } = lastRecord;
  const name = `Full-00000000-${String(revision).padStart(8, '0')}-1790000000.gz`;
  const container = dir.in('store');
  await mkdir(join(container, 'v2', 'manifest'), { recursive: true });
  await writeFile(join(container, 'v2', name), 'not read');
  const manifest = { name, revision, bytes: 8, sha256: '0'.repeat(64), lastRecord };
  await writeFile(join(container, 'v2', 'manifest', `${name}.json`), formatManifest(manifest));
  return container;
}

it('the same record is the same history', async () => {
  expect(await judge(dataDir, { container: await storeEndingWith(own) })).toMatchObject({ verdict: 'ok' });
});

it.each([
  ['value', { sha256: 'a'.repeat(64) }],
  ['key', { keyBase64: Buffer.from('other').toString('base64') }],
])('another %s at that revision stops', async (_, change) => {
  const verdict = await judge(dataDir, { container: await storeEndingWith({ ...own, ...change }) });
  expect(verdict).toMatchObject({ verdict: 'another history', status: 'StatusUnknown', consequence: 'stop' });
  expect(verdict.problems[0]).toContain('two histories');
});
