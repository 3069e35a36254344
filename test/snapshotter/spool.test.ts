import { copyFile, mkdir, readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import type { SnapshotterEvent } from '../../src/snapshotter/events.js';
import { OwnedDir, removeLeftBehind } from '../../src/snapshotter/owned-dir.js';
import { Spool } from '../../src/snapshotter/spool.js';
import { Load } from '../servers/load.js';
import { removeTempDir, tempDir } from '../servers/process.js';
import { FaultyStore } from '../store/faulty.js';
import { proveSet } from './prove-set.js';
import { setUp } from './set-up.js';

const dirs: string[] = [];
afterEach(async () => {
  for (const dir of dirs.splice(0)) await removeTempDir(dir);
});

function scratch(): string {
  const dir = tempDir('spool');
  dirs.push(dir);
  return dir;
}

const record = { keyBase64: 'a2V5', modRevision: 9n, tombstone: false, sha256: 'ab'.repeat(32) };
const tip = { name: 'Incr-00000005-00000009-1.ebd', sha256: 'cd'.repeat(32), revision: 9n, record };

test('what was confirmed is known after a restart', async () => {
  const options = {
    dir: join(scratch(), 'spool'),
    location: 'here',
    temporary: false,
    observe: () => undefined,
  };
  const first = await Spool.open(options);
  expect(first.tip).toBeUndefined();
  await first.confirm(3, tip);
  await first.close();
  const second = await Spool.open(options);
  expect([second.lineage, second.tip]).toEqual([3, tip]);
  await second.close();
});

test('a directory that nobody chose goes away with the last delta, and not before', async () => {
  const parent = scratch();
  const options = { dir: join(parent, 'spool'), location: 'here', temporary: true, observe: () => undefined };
  const first = await Spool.open(options);
  await first.confirm(1, tip);
  await writeFile(first.pathFor(1, 10n), 'delta');
  await first.close();
  const second = await Spool.open(options);
  expect(second.tip).toEqual(tip);
  await rm(second.pathFor(1, 10n));
  await second.close();
  expect(await readdir(parent)).toEqual([]);
});

test('what a killed run was just making goes away; files of somebody else stay', async () => {
  const dir = scratch();
  const halfMade = ['fetched.delta', 'spool.json.new', `000001-${'0'.repeat(20)}.ebd.json`];
  for (const name of [...halfMade, 'notes.json']) await writeFile(join(dir, name), '{');
  const spool = await Spool.open({ dir, location: 'here', temporary: false, observe: () => undefined });
  expect(await readdir(dir)).toEqual(['notes.json', 'owner.lock']);
  await spool.close();
});

test('a state that cannot be read is none', async () => {
  const dir = scratch();
  for (const text of ['', '{', '{"version":2}', '{"version":1,"store":"here","lineage":-1}']) {
    await writeFile(join(dir, 'spool.json'), text);
    const spool = await Spool.open({ dir, location: 'here', temporary: false, observe: () => undefined });
    expect([spool.lineage, spool.tip]).toEqual([0, undefined]);
    await spool.close();
  }
});

test('a spool of another store: its deltas are set aside with a word, never published here', async () => {
  const dir = scratch();
  const events: SnapshotterEvent[] = [];
  const observe = (event: SnapshotterEvent) => void events.push(event);
  const first = await Spool.open({ dir, location: 'there', temporary: false, observe });
  await first.confirm(1, tip);
  await writeFile(first.pathFor(1, 10n), 'delta');
  await first.close();
  const second = await Spool.open({ dir, location: 'here', temporary: false, observe });
  expect(await second.files()).toEqual([]);
  expect(second.tip).toBeUndefined();
  const warnings = events.filter(({ kind }) => kind === 'warning');
  expect(warnings.at(-1)).toMatchObject({
    text: expect.stringMatching(/1 deltas .* another store \(there\).*aside/),
  });
  await second.close();
});

test('files come in the order of their revisions', async () => {
  const spool = await Spool.open({
    dir: scratch(),
    location: 'here',
    temporary: false,
    observe: () => undefined,
  });
  for (const [lineage, start] of [
    [2, 5n],
    [1, 100n],
    [1, 99n],
  ] as const) {
    await writeFile(spool.pathFor(lineage, start), '');
  }
  await writeFile(join(spool.path, 'unrelated'), '');
  const files = await spool.files();
  expect(files.map(({ path }) => path)).toEqual([
    spool.pathFor(1, 99n),
    spool.pathFor(1, 100n),
    spool.pathFor(2, 5n),
  ]);
  await spool.close();
});

test('only directories of ours whose owner is gone are removed (hazard 37)', async () => {
  const parent = scratch();
  const held = await OwnedDir.acquire(join(parent, 'etcdbr-full-1'));
  const left = await OwnedDir.acquire(join(parent, 'etcdbr-full-2'));
  await writeFile(left.file('snapshot.db'), 'half');
  left.release();
  await mkdir(join(parent, 'etcdbr-full-by-somebody'));
  await mkdir(join(parent, 'other'));
  await writeFile(join(parent, 'etcdbr-full-file'), '');
  expect(await removeLeftBehind(parent, 'etcdbr-full-')).toBe(1);
  expect((await readdir(parent)).sort()).toEqual([
    'etcdbr-full-1',
    'etcdbr-full-by-somebody',
    'etcdbr-full-file',
    'other',
  ]);
  await held.remove();
});

test('deltas that etcd has compacted meanwhile are published from the spool, then a full is taken', async () => {
  const { etcd, endpoint, place, start } = await setUp('3.6.16');
  const load = new Load(endpoint, { seed: 31, compactBehind: 0 });
  const first = await start();
  await first.saw('full-stored');
  await load.run(20);
  await first.saw('delta-stored');
  await first.stop();
  const away = new FaultyStore(place.store, [{ on: 'put', fault: { kind: 'error', code: 'UNAVAILABLE' } }]);
  const second = await start({ store: away, graceMs: 300 });
  await load.run(40);
  await second.saw('failed');
  await second.stop().catch(() => undefined);
  const { revision } = await endpoint.status();
  await load.run(10);
  const compacted = (await endpoint.status()).revision;
  await endpoint.kv.compact({ revision: String(compacted), physical: true });
  const third = await start();
  await third.saw('full-stored');
  await third.until(() => third.of('delta-stored').some(({ lastRevision }) => lastRevision >= revision));
  await third.stop();
  expect(third.of('start')).toMatchObject([{ start: 'full', reason: expect.stringMatching(/compacted/) }]);
  await proveSet(place.store, etcd, endpoint);
});

test('deltas in the spool that do not continue the store are set aside with a word', async () => {
  const { endpoint, place, start } = await setUp('3.6.16');
  const load = new Load(endpoint, { seed: 32, compactBehind: 0 });
  const first = await start({ flags: { 'spool-directory': join(place.dir, 'spool') } });
  await first.saw('full-stored');
  await load.run(30);
  await first.saw('delta-stored');
  await load.run(30);
  await first.saw('delta-stored', 2);
  await first.stop();
  const [one, two] = first.of('delta-stored').map(({ name }) => name) as [string, string];
  // As if the second one had never been uploaded, and somebody removed the first one from the store.
  const revision = String(first.of('delta-stored')[1]?.firstRevision).padStart(20, '0');
  const spooled = join(place.dir, 'spool', `000001-${revision}.ebd`);
  await copyFile(join(place.container, 'v2', two), spooled);
  for (const name of [one, two]) {
    await rm(join(place.container, 'v2', name));
    await rm(join(place.container, 'v2/manifest', `${name}.json`));
  }
  const second = await start({ flags: { 'spool-directory': join(place.dir, 'spool') } });
  await second.saw('delta-stored');
  await second.stop();
  expect(second.of('warning')).toMatchObject([
    { text: expect.stringMatching(/set aside in .*do not continue/) },
  ]);
});
