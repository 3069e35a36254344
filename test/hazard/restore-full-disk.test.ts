/** The disk fills while deltas are appended (R7, R9): named, nothing is left, and the old directory stays. */
import { execFileSync } from 'node:child_process';
import { mkdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { APPLIERS, restoreFrom } from '../restorer/request.js';
import { cleanUp, expectOnly, recorded, testDir } from '../restorer/set-up.js';

const dir = testDir('full-disk');
const version = '3.6.16';
/** The base and an old directory find room, what the deltas unpack to does not. */
const DISK_BYTES = 48 * 1024 * 1024;
const VALUES = 60;

test.each(APPLIERS)('hazard 24: a disk that fills while deltas are applied, %s applier', async (applier) => {
  const source = await recorded(version, dir.in('source'));
  const store = dir.in('store');
  const start = await source.put('/a/', 3);
  await source.full(store);
  await mkdir(dir.in('small'));
  execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${DISK_BYTES}`, 'etcdbr-test', dir.in('small')]);
  cleanUp(() => execFileSync('umount', [dir.in('small')]));
  const dataDir = dir.in('small/data');
  const request = { applier, container: store, dataDir, version } as const;
  await restoreFrom(request);
  const db = join(dataDir, 'member/snap/db');
  const before = await readFile(db);
  await source.put('/large/', VALUES, 1_000_000);
  await source.store(store, await source.delta(start + 1n));
  // An etcd that ends for want of space only says so in its log.
  const code = expect.stringMatching(applier === 'native' ? /^NO_SPACE$/ : /^(NO_SPACE|IO)$/);
  await expect(restoreFrom(request)).rejects.toMatchObject({ code });
  expect((await readFile(db)).equals(before)).toBe(true);
  await expectOnly(dir.in('small'), 'data');
});
