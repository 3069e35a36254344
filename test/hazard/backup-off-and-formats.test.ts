/** Hazards 11 and 45: deltas that are off, and what the Go tool may find in a store. */
import { execFile } from 'node:child_process';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { gunzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { Load } from '../servers/load.js';
import { planOf, proveSet, readSet } from '../snapshotter/prove-set.js';
import { setUp } from '../snapshotter/set-up.js';

test.each(['0', '0s', '999ms', '100us'])(
  'a delta period of %s: a full, and no watch at all (hazard 11)',
  async (period) => {
    const { etcd, endpoint, place, start } = await setUp('3.6.16');
    const backup = await start({ flags: { 'delta-snapshot-period': period } });
    await backup.saw('full-stored');
    await new Load(endpoint, { seed: 1 }).run(20);
    expect(await metric(etcd.endpoint, 'etcd_debugging_mvcc_watcher_total')).toBe(0);
    await backup.stop();
    expect((await readSet(place.store)).map(({ name }) => name.kind)).toEqual(['full']);
    expect(await readdir(place.tempDir)).toEqual([]);
  },
);

test('--compat gardener writes only what the Go tool reads, and every name in the store parses (hazard 45)', async () => {
  const { etcd, endpoint, place, start } = await setUp('3.5.35');
  const load = new Load(endpoint, { seed: 45, compactBehind: 0 });
  await load.run(100);
  const flags = { compat: 'gardener' };
  const backup = await start({ flags });
  await backup.saw('full-stored');
  for (const deltas of [1, 2]) {
    await load.run(100);
    await backup.saw('delta-stored', deltas);
  }
  await backup.stop();
  const objects = await readSet(place.store);
  expect(objects.length).toBeGreaterThan(2);
  for (const { name } of objects) expect(name.text).toMatch(/^(Full|Incr)-\d{8}-\d{8}-\d+\.gz$/);
  await proveSet(place.store, etcd, endpoint);

  const { base } = await planOf(place.store);
  const plain = gunzipSync(await readFile(join(place.container, base.key)));
  expect(plain.length % 512).toBe(32);
  const status = await promisify(execFile)('gzip', ['-t', join(place.container, base.key)]);
  expect(status.stderr).toBe('');
});

test('a set with .ebd or .zst is not continued under --compat gardener: a full of its own formats begins', async () => {
  const { etcd, endpoint, place, start } = await setUp('3.6.16');
  const ours = await start();
  await ours.saw('full-stored');
  await ours.stop();
  await new Load(endpoint, { seed: 3, compactBehind: 0 }).run(30);
  const theirs = await start({ flags: { compat: 'gardener' } });
  await theirs.saw('full-stored');
  await theirs.stop();
  expect(theirs.of('start')).toMatchObject([{ reason: expect.stringMatching(/Go tool cannot restore/) }]);
  const back = await start({ flags: { compat: 'gardener' } });
  await new Load(endpoint, { seed: 4, compactBehind: 0 }).run(30);
  await back.saw('delta-stored');
  await back.stop();
  expect(back.of('start')).toMatchObject([{ start: 'continue' }]);
  const plan = await proveSet(place.store, etcd, endpoint);
  expect(plan.base.name.codec).toBe('gzip');
});

test.each([
  ['lzw', '.Z'],
  ['zlib', '.zlib'],
] as const)('--compression-policy %s for fulls and json deltas', async (policy, suffix) => {
  const { etcd, endpoint, place, start } = await setUp('3.6.16');
  const load = new Load(endpoint, { seed: 46, compactBehind: 0 });
  await load.run(100);
  const flags = { compat: 'gardener', 'compression-policy': policy };
  const backup = await start({ flags });
  await backup.saw('full-stored');
  await load.run(100);
  await backup.saw('delta-stored');
  await backup.stop();
  const objects = await readSet(place.store);
  expect(new Set(objects.map(({ name }) => name.kind))).toEqual(new Set(['full', 'delta']));
  for (const { name } of objects) expect(name.text.endsWith(suffix)).toBe(true);
  await proveSet(place.store, etcd, endpoint);
});

async function metric(endpoint: string, name: string): Promise<number> {
  const text = await (await fetch(`${endpoint}/metrics`)).text();
  return Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(text)?.[1] ?? Number.NaN);
}
