/** Stores that others wrote, or that a restore of ours stands behind. */
import { cp, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { verifyDelta } from '../../src/native/index.js';
import { RESTORED_FILE } from '../../src/snapshot/restored-mark.js';
import { Load } from '../servers/load.js';
import { planOf, proveSet, readSet } from './prove-set.js';
import { setUp } from './set-up.js';

const fixture = fileURLToPath(new URL('../fixtures/gardener-gzip-etcd3.5/store', import.meta.url));

test('a store of the Go tool whose history etcd has not: warned once, a full begins, the old set stays', async () => {
  const { etcd, endpoint, place, start } = await setUp('3.5.35');
  await cp(fixture, place.container, { recursive: true });
  const before = (await readSet(place.store)).length;
  const backup = await start();
  await backup.saw('full-stored');
  await new Load(endpoint, { seed: 2, compactBehind: 0 }).run(20);
  await backup.saw('delta-stored');
  await backup.stop();
  const warnings = backup.of('warning').filter(({ text }) => /Go tool/.test(text));
  expect(warnings).toMatchObject([{ hint: expect.stringMatching(/--once full --compat gardener/) }]);
  expect(backup.of('start')).toMatchObject([{ reason: expect.stringMatching(/has not reached revision/) }]);
  expect((await readSet(place.store)).length).toBeGreaterThan(before);
  expect((await endpoint.status()).version).toBe(etcd.version);
});

test('a delta of the Go tool, of the same history, is continued', async () => {
  const { etcd, endpoint, place, start } = await setUp('3.5.35');
  const load = new Load(endpoint, { seed: 3, compactBehind: 0 });
  const flags = { compat: 'gardener' };
  const theirs = await start({ flags });
  await theirs.saw('full-stored');
  await load.run(60);
  await theirs.saw('delta-stored');
  await theirs.stop();
  // The Go tool writes no manifests, and leaves no spool.
  for (const { name } of await readSet(place.store))
    await place.store.delete(`v2/manifest/${name.text}.json`);
  const ours = await start({ flags: { ...flags, 'spool-directory': join(place.dir, 'other-spool') } });
  await load.run(60);
  await ours.saw('delta-stored');
  await ours.stop();
  expect(ours.of('start')).toMatchObject([{ start: 'continue' }]);
  await expect(proveSet(place.store, etcd, endpoint)).rejects.toThrow(/needs-base-revision/);
});

test('backups of a restored etcd name the restore, in manifests and deltas', async () => {
  const { endpoint, place, start } = await setUp('3.6.16');
  const dataDir = join(place.dir, 'restored.etcd');
  await mkdir(dataDir);
  const mark = {
    base: 'Full-00000000-00000005-1.zst',
    revision: '7',
    restoredAtMs: 1_700_000_000_000,
    id: 'abc',
  };
  await writeFile(join(dataDir, RESTORED_FILE), JSON.stringify(mark));
  const backup = await start({ flags: { 'data-dir': dataDir } });
  await backup.saw('full-stored');
  await new Load(endpoint, { seed: 4, compactBehind: 0 }).run(20);
  await backup.saw('delta-stored');
  await backup.stop();
  const objects = await readSet(place.store);
  for (const { manifest } of objects) {
    expect(manifest?.restoredFrom).toEqual({
      base: mark.base,
      revision: 7n,
      restoredAtMs: mark.restoredAtMs,
    });
  }
  const { deltas } = await planOf(place.store);
  const { header } = await verifyDelta('delta', join(place.container, deltas[0]?.object.key ?? ''));
  expect(header?.timeline).toBe('abc');
});

test('a mark that cannot be read is a warning', async () => {
  const { place, start } = await setUp('3.6.16');
  await writeFile(join(place.dir, RESTORED_FILE), '{"base": 1}');
  const backup = await start({ flags: { 'data-dir': place.dir, once: 'full' } });
  await backup.ended;
  expect(backup.of('warning')).toMatchObject([
    { text: expect.stringMatching(/etcdbr-restored.json cannot be read/) },
  ]);
});
