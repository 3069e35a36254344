/** Two histories in one store are never mixed, and the one that was started by mistake never wins (hazards 44, 46). */
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { APPLIERS, restoreFrom } from '../restorer/request.js';
import { expectOnly, expectRestored, recorded, testDir } from '../restorer/set-up.js';
import { releaseOf } from '../servers/binaries.js';
import { restoreByTool } from '../servers/etcd.js';
import { readTruth } from '../servers/truth.js';

const dir = testDir('history');
const version = releaseOf('3.6');

describe.each(APPLIERS)('%s applier', (applier) => {
  describe('hazard 44: one snapshot, two histories', () => {
    test('an undeclared fork is refused with both branches, and --timeline restores either whole', async () => {
      const store = dir.in('store');
      const a = await recorded(version, dir.in('work-a'));
      const start = await a.put('/both/', 10);
      const common = await a.snapshot();
      await a.full(store, { path: common, named: start });
      await a.put('/a/', 12);
      await a.store(store, await a.delta(start + 1n));
      const truthA = await readTruth(a.endpoint);

      await restoreByTool(version, common, dir.in('rolled-back'));
      const b = await recorded(
        version,
        dir.in('work-b'),
        { dataDir: dir.in('rolled-back') },
        a.secs + 86_400,
      );
      await b.put('/b/', 5);
      const full = await b.full(store);
      const next = (await b.revision()) + 1n;
      await b.put('/b/', 20);
      await b.store(store, await b.delta(next));
      const truthB = await readTruth(b.endpoint);

      const restoring = restoreFrom({ applier, container: store, dataDir: dir.in('data'), version });
      await expect(restoring).rejects.toMatchObject({
        code: 'FORK',
        hint: expect.stringMatching(new RegExp(`${full}.*--timeline newest.*--timeline highest`, 's')),
      });
      await expectOnly(dir.path, 'store', 'work-a', 'work-b', 'rolled-back');
      const newest = await restoreFrom({
        applier,
        container: store,
        dataDir: dir.in('data'),
        version,
        timeline: 'newest',
      });
      expect(newest.plan.revision).toBe(truthB.revision);
      await expectRestored(version, dir.in('data'), truthB);
      // Without B's objects A is one history again, as far as it goes.
      const names = [full, newest.plan.deltas.at(-1)?.object.name.text as string];
      for (const name of names) await rm(join(store, 'v2', name));
      await restoreFrom({ applier, container: store, dataDir: dir.in('data-a'), version });
      await expectRestored(version, dir.in('data-a'), truthA);
    });
  });

  describe('hazard 46: an empty etcd was started by mistake', () => {
    test('its full is newer, and does not win', async () => {
      const store = dir.in('store');
      const real = await recorded(version, dir.in('work'));
      await real.put('/real/', 30);
      await real.full(store);
      const truth = await readTruth(real.endpoint);
      const empty = await recorded(version, dir.in('work-empty'), {}, real.secs + 86_400);
      const mistake = await empty.full(store);
      const restoring = restoreFrom({ applier, container: store, dataDir: dir.in('data'), version });
      await expect(restoring).rejects.toMatchObject({ code: 'FORK', hint: expect.stringContaining(mistake) });
      const highest = await restoreFrom({
        applier,
        container: store,
        dataDir: dir.in('data'),
        version,
        timeline: 'highest',
      });
      expect(highest.plan.revision).toBe(truth.revision);
      await expectRestored(version, dir.in('data'), truth);
    });
  });
});
