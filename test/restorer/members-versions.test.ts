/** A full of one etcd version, restored for another. What proved.md 1 saw of directories written by hand holds for ours. */
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { inspectDb } from '../../src/native/index.js';
import { reportLines, reportOf } from '../../src/restorer/report.js';
import { restore } from '../../src/restorer/restore.js';
import { ETCD_VERSIONS, releaseOf } from '../servers/binaries.js';
import { restoreByTool, startEtcd } from '../servers/etcd.js';
import { storeWithFull } from './members-set-up.js';
import { type RestoreChange, requestFor, restoreFrom } from './request.js';
import { cleanUp, testDir } from './set-up.js';
import { differencesFrom, sourceTruth } from './source-truth.js';

const dir = testDir('members-versions');
const dataDir = () => dir.in('data');
const dbPath = () => join(dataDir(), 'member', 'snap', 'db');

async function restored(source: string, change: Partial<RestoreChange>): Promise<string> {
  const { container } = await storeWithFull(dir.in('store'), releaseOf(source));
  const request = await requestFor({ container, dataDir: dataDir(), etcdBinary: '/nowhere/etcd', ...change });
  return reportLines(reportOf(request, await restore(request))).join('\n');
}

/** Boots, holds what the source held, takes writes, boots again. */
async function expectServes(source: string, target: string): Promise<void> {
  const truth = await sourceTruth(`etcd-${source}`);
  const etcd = await startEtcd(releaseOf(target), { dataDir: dataDir() });
  cleanUp(() => etcd.destroy());
  for (const round of [1n, 2n]) {
    const endpoint = await etcd.open();
    try {
      const { header } = await endpoint.kv.put({ key: Buffer.from('after'), value: Buffer.from('restore') });
      expect(BigInt(header.revision)).toBe(truth.revision + round);
      expect(await differencesFrom(truth, endpoint)).toEqual([]);
    } finally {
      endpoint.close();
    }
    if (round === 1n) await etcd.restart();
  }
  await etcd.stop();
}

describe('a newer etcd', () => {
  test.each([
    ['3.4', '3.5'],
    ['3.4', '3.6'],
    ['3.4', '3.7'],
    ['3.5', '3.6'],
    ['3.5', '3.7'],
    ['3.6', '3.7'],
  ])('of %s starts on %s without a flag', async (source, target) => {
    expect(await restored(source, {})).toContain(`Start it with etcd ${source} or newer`);
    await expectServes(source, target);
  });
});

describe('an older etcd', () => {
  test.each([
    ['3.7', '3.6'],
    ['3.7', '3.5'],
    ['3.7', '3.4'],
    ['3.6', '3.5'],
    ['3.6', '3.4'],
    ['3.5', '3.4'],
  ])('of %s starts on %s with --etcd-version', async (source, target) => {
    expect(await restored(source, { etcdVersion: target })).toContain(`Start it with etcd ${target},`);
    expect(await inspectDb(dbPath())).toMatchObject({ storageVersion: null });
    await expectServes(source, target);
    const { storageVersion } = await inspectDb(dbPath());
    expect(storageVersion).toBe(target === '3.6' ? '3.6.0' : null);
  });

  test('of 3.7 does not start on 3.6 without the flag', async () => {
    await restored('3.7', {});
    const started = startEtcd(releaseOf('3.6'), { dataDir: dataDir() });
    await expect(started).rejects.toThrow(/version ..3\.7\.0.. is not supported/);
  });
});

test.each(ETCD_VERSIONS)('--etcd-version gives WAL and raft snapshot of the tool of %s', async (version) => {
  const { container } = await storeWithFull(dir.in('store'), version);
  const [full = ''] = await readdir(join(container, 'v2'));
  await restoreByTool(version, join(container, 'v2', full), dir.in('tool'));
  await restoreFrom({ container, dataDir: dataDir(), etcdVersion: version.slice(0, 3) });
  for (const name of [
    'wal/0000000000000000-0000000000000000.wal',
    'snap/0000000000000001-0000000000000001.snap',
  ]) {
    const [ours, theirs] = await Promise.all(
      [dataDir(), dir.in('tool')].map((base) => readFile(join(base, 'member', name))),
    );
    expect(ours?.equals(theirs as Buffer), name).toBe(true);
  }
});
