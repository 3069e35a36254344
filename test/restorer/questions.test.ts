/** Objects whose times look like a fork are one history when content says so (architecture, decision 6). */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { readTruth } from '../servers/truth.js';
import type { Recorder } from './recorder.js';
import { restoreFrom } from './request.js';
import { expectRestored, recorded, testDir } from './set-up.js';

const dir = testDir('questions');
const VERSION = '3.6.16';
const DAY_SECS = 86_400;

async function historyOf(source: Recorder) {
  await source.put('/a/', 4);
  const early = { named: await source.revision(), path: await source.snapshot() };
  await source.put('/b/', 6);
  const middle = { named: await source.revision(), path: await source.snapshot() };
  await source.put('/c/', 12);
  return { early, middle };
}

describe('a full that was stored a day late', () => {
  test('stands in the other full: the newer state is restored', async () => {
    const source = await recorded(VERSION, dir.in('work'));
    const { early, middle } = await historyOf(source);
    const store = dir.in('store');
    await source.full(store, middle);
    source.secs += DAY_SECS;
    await source.full(store, early);
    const { plan } = await restoreFrom({ container: store, dataDir: dir.in('data'), version: VERSION });
    expect(plan.revision).toBe(middle.named);
    await expectRestored(VERSION, dir.in('data'), await readTruth(source.endpoint, middle.named));
  });

  test.each(['ebd', 'json'] as const)('in the middle of a delta (%s) of the other', async (format) => {
    const source = await recorded(VERSION, dir.in('work'));
    const store = dir.in('store');
    await source.put('/a/', 4);
    await source.full(store);
    await source.put('/b/', 6);
    const middle = { named: await source.revision(), path: await source.snapshot() };
    await source.put('/c/', 12);
    await source.store(store, await source.delta(6n, format));
    source.secs += DAY_SECS;
    await source.full(store, middle);
    const truth = await readTruth(source.endpoint);
    const { plan } = await restoreFrom({ container: store, dataDir: dir.in('data'), version: VERSION });
    expect(plan.revision).toBe(truth.revision);
    await expectRestored(VERSION, dir.in('data'), truth);
  });

  test.each(['ebd', 'json'] as const)(
    'with %s deltas that agree at their last revision: one chain',
    async (format) => {
      const source = await recorded(VERSION, dir.in('work'));
      const { early, middle } = await historyOf(source);
      const store = dir.in('store');
      await source.full(store, middle);
      await source.store(store, await source.delta(middle.named + 1n));
      source.secs += DAY_SECS;
      await source.full(store, early);
      await source.store(store, await source.delta(early.named + 1n, format));
      const truth = await readTruth(source.endpoint);
      const { plan } = await restoreFrom({ container: store, dataDir: dir.in('data'), version: VERSION });
      expect(plan.revision).toBe(truth.revision);
      await expectRestored(VERSION, dir.in('data'), truth);
    },
  );
});

test('the restored directory names its base, as backups read it', async () => {
  const source = await recorded(VERSION, dir.in('work'));
  const store = dir.in('store');
  await source.put('/a/', 3);
  const base = await source.full(store);
  await restoreFrom({ container: store, dataDir: dir.in('data'), version: VERSION });
  const mark = JSON.parse(await readFile(join(dir.in('data'), 'etcdbr-restored.json'), 'utf8'));
  expect(mark).toMatchObject({ base, revision: '4', id: expect.stringMatching(/^[0-9a-f-]{36}$/) });
});
