/** What is restored when the reader chooses (R6), and when the store fails on the way. */
import { writeFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { readCatalog } from '../../src/pipeline/catalog.js';
import { restore } from '../../src/restorer/restore.js';
import { startEtcd } from '../servers/etcd.js';
import { Random } from '../servers/random.js';
import { fixture, requestFor, restoreFrom } from './request.js';
import { expectOnly, testDir } from './set-up.js';
import { differencesFrom, sourceTruth } from './source-truth.js';

const dir = testDir('choose');
const version = '3.5.35';
const TWO_WRITERS = 'gardener-two-writers-etcd3.5';
const OLDER_FULL = 'Full-00000000-00000988-1796079738';
const NEWER_FULL = 'Full-00000000-00001188-1796079742';

test.each([
  ['the newest by default', {}, NEWER_FULL],
  ['--base', { base: OLDER_FULL }, OLDER_FULL],
  ['--exclude of the newest full', { exclude: [NEWER_FULL] }, OLDER_FULL],
])('%s: another way to the same state', async (_, change, base) => {
  const container = fixture(`${TWO_WRITERS}/store`);
  const result = await restoreFrom({ container, dataDir: dir.in('data'), version, ...change });
  const truth = await sourceTruth(TWO_WRITERS);
  expect(result.base.object.name.text.startsWith(base)).toBe(true);
  expect(result.plan.revision).toBe(truth.revision);
  const etcd = await startEtcd(version, { dataDir: dir.in('data') });
  const endpoint = await etcd.open();
  expect(await differencesFrom(truth, endpoint)).toEqual([]);
  endpoint.close();
  await etcd.destroy();
});

test('--base that is not there', async () => {
  const container = fixture(`${TWO_WRITERS}/store`);
  const restoring = restoreFrom({
    container,
    dataDir: dir.in('data'),
    version,
    base: 'Full-00000000-00000001-1',
  });
  await expect(restoring).rejects.toMatchObject({
    code: 'NOT_FOUND',
    object: expect.stringContaining('--base'),
  });
  await expectOnly(dir.path);
});

test('a store whose every read breaks twice, at random bytes, costs time and nothing else', async () => {
  const container = fixture('gardener-gzip-etcd3.5/store');
  const random = new Random(5);
  const request = await requestFor({ container, dataDir: dir.in('data'), version });
  const { objects } = await readCatalog(request.store);
  const faults = objects.map(({ name, bytes }) => [
    name.text,
    { failAt: [random.int(bytes), random.int(bytes)], slowMs: random.int(30) },
  ]);
  await writeFile(dir.in('faults.json'), JSON.stringify(Object.fromEntries(faults)));
  const result = await restore({
    ...request,
    settings: { ...request.settings, homeDir: dir.path },
    workerUrl: new URL('../pipeline/faulty-worker.mjs', import.meta.url),
  });
  expect(result.plan.revision).toBe(2989n);
  await expectOnly(dir.path, 'data', 'faults.json', 'reads.log');
});

test('a store that stays away in the middle fails the restore with the object, and leaves nothing', async () => {
  const container = fixture('gardener-gzip-etcd3.5/store');
  const request = await requestFor({ container, dataDir: dir.in('data'), version, allowOlder: true });
  const { objects } = await readCatalog(request.store);
  const last = objects.reduce((a, b) => (a.name.last > b.name.last ? a : b)).name.text;
  await writeFile(dir.in('faults.json'), JSON.stringify({ [last]: { failAt: [0, 0, 0, 0] } }));
  const restoring = restore({
    ...request,
    settings: { ...request.settings, homeDir: dir.path },
    workerUrl: new URL('../pipeline/faulty-worker.mjs', import.meta.url),
  });
  await expect(restoring).rejects.toMatchObject({ code: 'UNAVAILABLE', object: last });
  await expectOnly(dir.path, 'faults.json', 'reads.log');
});
