/** A delta of a history that a restore has left goes on behind the point where it was left: that part is never restored. */
import { createHash } from 'node:crypto';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { formatManifest } from '../../src/snapshot/manifest.js';
import { APPLIERS, restoreFrom } from '../restorer/request.js';
import { expectRestored, recorded, testDir } from '../restorer/set-up.js';
import { releaseOf } from '../servers/binaries.js';
import { restoreByTool } from '../servers/etcd.js';
import { readTruth } from '../servers/truth.js';

const dir = testDir('left-history');
const version = releaseOf('3.6');

/** The manifest that our snapshotter writes after a restore that it knows of. */
async function declare(
  store: string,
  name: string,
  base: string,
  at: bigint,
  revision: bigint,
): Promise<void> {
  const content = await readFile(join(store, 'v2', name));
  const sha256 = createHash('sha256').update(content).digest('hex');
  await mkdir(join(store, 'v2', 'manifest'), { recursive: true });
  const restoredFrom = { base, revision: at };
  await writeFile(
    join(store, 'v2', 'manifest', `${name}.json`),
    formatManifest({ name, revision, bytes: content.length, sha256, restoredFrom }),
  );
}

describe.each(APPLIERS)('%s applier', (applier) => {
  test('hazard 44: without the full that the new history began with, each delta counts as far as it belongs to it', async () => {
    const store = dir.in('store');
    const a = await recorded(version, dir.in('work-a'));
    const start = await a.put('/both/', 10);
    const base = await a.full(store);
    const left = await a.put('/both/', 5);
    const common = await a.snapshot();
    await a.put('/a/', 8);
    await a.store(store, await a.delta(start + 1n));

    await restoreByTool(version, common, dir.in('rolled-back'));
    const b = await recorded(version, dir.in('work-b'), { dataDir: dir.in('rolled-back') }, a.secs + 86_400);
    const full = await b.full(store);
    await declare(store, full, base, left, left);
    await b.put('/b/', 20);
    const revision = await b.revision();
    await declare(store, await b.store(store, await b.delta(left + 1n)), base, left, revision);

    const truth = await readTruth(b.endpoint);
    for (const [at, exclude] of [[], [full]].entries()) {
      const dataDir = dir.in(`data-${at}`);
      const { plan } = await restoreFrom({ applier, container: store, dataDir, version, exclude });
      expect(plan.revision).toBe(revision);
      if (at === 1) expect(plan.deltas.map(({ to }) => to)).toEqual([left, revision]);
      await expectRestored(version, dataDir, truth);
    }
    const packed = dir.in('packed');
    await restoreFrom({ applier, container: store, dataDir: packed, version, exclude: [full], pack: true });
    await expectRestored(version, packed, truth);
  });
});
