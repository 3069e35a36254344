/** What the Go tool is known to fail at (upstream.md, section 19), on the restoring side. */
import { copyFile, cp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { fixture, restoreFrom } from '../restorer/request.js';
import { expectOnly, testDir } from '../restorer/set-up.js';
import { copySmallSet, SMALL_SET, SMALL_SET_REVISION } from '../restorer/small-set.js';

const dir = testDir('upstream-19');
const SMALL = fixture(`${SMALL_SET}/store`);

function later(name: string): string {
  return name.replace(/-\d+$/, (secs) => `-${Number(secs.slice(1)) + 1}`);
}

test('upstream 19.3: a delta that was stored twice, not the first one, is applied once', async () => {
  const { container, names } = await copySmallSet(dir.in('store'));
  const [, , third] = names as [string, string, string];
  await copyFile(join(container, 'v2', third), join(container, 'v2', later(third)));
  const { plan } = await restoreFrom({ container, dataDir: dir.in('data') });
  expect(plan.revision).toBe(SMALL_SET_REVISION);
});

test('upstream 19.6: a prefix in which "v1/" can be read hides no backup', async () => {
  await cp(SMALL, dir.in('store/env1/etcd-main'), { recursive: true });
  const request = { container: dir.in('store'), prefix: 'env1/etcd-main', dataDir: dir.in('data') };
  expect((await restoreFrom(request)).plan.revision).toBe(SMALL_SET_REVISION);
});

test('upstream 19.7: a prefix means itself, not what begins with the same letters', async () => {
  await cp(SMALL, dir.in('store/etcd-events'), { recursive: true });
  const request = { container: dir.in('store'), prefix: 'etcd', dataDir: dir.in('data') };
  await expect(restoreFrom(request)).rejects.toMatchObject({ code: 'NOTHING_TO_RESTORE' });
  await expectOnly(dir.path, 'store');
});

test('upstream 19.11: deltas without a full are refused by name', async () => {
  const { container, names } = await copySmallSet(dir.in('store'));
  const [full] = names as [string];
  const restoring = restoreFrom({ container, dataDir: dir.in('data'), exclude: [full] });
  await expect(restoring).rejects.toMatchObject({
    code: 'NOTHING_TO_RESTORE',
    message: expect.stringContaining('every full is excluded'),
  });
  await expectOnly(dir.path, 'store');
});

test('upstream 19.12: a chain is checked before anything is fetched; an earlier revision can be chosen', async () => {
  const { container, names } = await copySmallSet(dir.in('store'));
  await rm(join(container, 'v2', names[3] as string));
  const request = { container, dataDir: dir.in('data'), maxFetchers: 1 };
  await expect(restoreFrom(request)).rejects.toMatchObject({
    code: 'REVISION_GAP',
    message: expect.stringContaining('revisions 1982-2233'),
    hint: expect.stringMatching(/Revisions that can be restored to: \d+-1981$/),
  });
  expect((await restoreFrom({ ...request, toRevision: 1_900n })).plan.revision).toBe(1_900n);
});
