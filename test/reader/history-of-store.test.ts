/** Whose history it is: objects that look like a fork are one when content says so; of two histories none is guessed. */
import { readdir } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';
import { recorded, testDir } from '../restorer/set-up.js';
import { restoreByTool } from '../servers/etcd.js';
import { readTruth } from '../servers/truth.js';
import { ALL, byKey, prefix, rowsOf, storeReader, truthByKey } from './readers.js';

const dir = testDir('reader-history');
const VERSION = '3.6.16';
const DAY_SECS = 86_400;

test.each(['full', 'ebd', 'json'] as const)(
  'a full that was stored a day late, with %s beside it',
  async (beside) => {
    const source = await recorded(VERSION, dir.in('work'));
    const store = dir.in('store');
    await source.put('/a/', 4);
    const early = { named: await source.revision(), path: await source.snapshot() };
    await source.put('/b/', 6);
    const middle = { named: await source.revision(), path: await source.snapshot() };
    await source.put('/c/', 12);
    await source.full(store, middle);
    if (beside !== 'full') await source.store(store, await source.delta(middle.named + 1n));
    source.secs += DAY_SECS;
    await source.full(store, early);
    if (beside !== 'full') await source.store(store, await source.delta(early.named + 1n, beside));
    const reader = await storeReader(store);
    const truth = await readTruth(source.endpoint, beside === 'full' ? middle.named : undefined);
    const answer = await reader.state(ALL, undefined, {});
    expect(answer.revision).toBe(truth.revision);
    expect(byKey(await rowsOf(answer))).toEqual(truthByKey(truth));
  },
);

describe('hazard 44: one snapshot, two histories', () => {
  test('a fork is refused, and --timeline reads one of them and nothing of the other', async () => {
    const store = dir.in('store');
    const a = await recorded(VERSION, dir.in('work-a'));
    const start = await a.put('/both/', 10);
    const common = await a.snapshot();
    await a.full(store, { path: common, named: start });
    await a.put('/a/', 12);
    await a.store(store, await a.delta(start + 1n));
    await restoreByTool(VERSION, common, dir.in('rolled-back'));
    const options = { dataDir: dir.in('rolled-back') };
    const b = await recorded(VERSION, dir.in('work-b'), options, a.secs + DAY_SECS);
    await b.put('/b/', 5);
    await b.full(store);
    const next = (await b.revision()) + 1n;
    await b.put('/b/', 20);
    await b.store(store, await b.delta(next));
    const truth = await readTruth(b.endpoint);

    const asked = (await storeReader(store)).state(ALL, undefined, {});
    await expect(asked).rejects.toMatchObject({
      code: 'FORK',
      hint: expect.stringContaining('--timeline newest'),
    });
    const reader = await storeReader(store, { timeline: 'newest' });
    expect(byKey(await rowsOf(reader.state(ALL, undefined, {})))).toEqual(truthByKey(truth));
    expect(await rowsOf(reader.history(prefix('/a/'), { withValues: false }))).toEqual([]);
    expect((await rowsOf(reader.history(prefix('/b/'), { withValues: false }))).length).toBe(25);
  });
});

test('a history goes back behind the full that compaction has emptied', async () => {
  const source = await recorded(VERSION, dir.in('work'));
  const store = dir.in('store');
  await source.put('k', 30);
  await source.full(store);
  const next = (await source.revision()) + 1n;
  await source.put('k', 30);
  await source.store(store, await source.delta(next));
  await source.endpoint.kv.compact({ revision: String(await source.revision()), physical: true });
  const newest = await source.full(store);
  const all = await rowsOf((await storeReader(store)).history(prefix('k'), { withValues: false }));
  expect(all.length).toBe(60);
  const [oldest] = await rowsOf((await storeReader(store)).state(prefix('k'), 3n, {}));
  expect(oldest).toMatchObject({ modRevision: 2n, version: 1n });
  const alone = await storeReader(store, { exclude: [(await storeNames(store, newest))[0] ?? ''] });
  const answer = await alone.history(prefix('k'), { withValues: false });
  expect((await rowsOf(answer)).length).toBe(7);
  expect(answer.compacted).toBe(61n);
});

async function storeNames(store: string, except: string): Promise<string[]> {
  return (await readdir(`${store}/v2`)).filter((name) => name.startsWith('Full-') && name !== except);
}
