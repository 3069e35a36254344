/** R6: a restore to a revision or a time is the state that the source had then. */
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { reportLines, reportOf } from '../../src/restorer/report.js';
import { restore } from '../../src/restorer/restore.js';
import { readTruth } from '../servers/truth.js';
import type { Recorder } from './recorder.js';
import { APPLIERS, requestFor, restoreFrom } from './request.js';
import { expectOnly, expectRestored, recorded, testDir } from './set-up.js';

const dir = testDir('to-target');
const VERSION = '3.6.16';
/** Above what an event needs to arrive at a watch that is open. */
const PACE_MS = 25;
const WATCH_OPEN_MS = 500;

/** A time of the real clock that lies between two revisions. */
interface Tick {
  readonly revision: bigint;
  readonly timeMs: number;
}

async function pacedPuts(source: Recorder, prefix: string, count: number): Promise<Tick[]> {
  const ticks: Tick[] = [];
  for (let at = 0; at < count; at++) {
    const revision = await source.put(`${prefix}${at % 3}/`, 1);
    await sleep(PACE_MS);
    ticks.push({ revision, timeMs: Date.now() });
    await sleep(PACE_MS);
  }
  return ticks;
}

function now(source: Recorder): void {
  source.secs = Math.floor(Date.now() / 1000) - 10;
}

/** A full, three deltas (the second the Go tool's), a later full, and one more delta; events arrive as they happen. */
async function pacedSet(source: Recorder, store: string) {
  const ticks: Tick[] = [];
  await source.put('/early/', 5);
  now(source);
  const base = await source.full(store);
  const baseRevision = await source.revision();
  await sleep(1_100);
  const borders: bigint[] = [];
  for (const [round, format] of (['ebd', 'json', 'ebd', 'ebd'] as const).entries()) {
    const from = (await source.revision()) + 1n;
    const recording = await source.whileRecording(from);
    await sleep(WATCH_OPEN_MS);
    const until = await pacedPuts(source, `/round-${round}/`, 8);
    ticks.push(...until);
    const delta = await recording.end(format);
    await sleep(1_100);
    now(source);
    await source.store(store, delta);
    borders.push(delta.to);
    if (round === 2) await source.full(store);
  }
  return { base, baseRevision, ticks, borders };
}

test('to revisions inside deltas, at borders, and at the fulls; to times between any two events', async () => {
  const source = await recorded(VERSION, dir.in('work'));
  const store = dir.in('store');
  const { baseRevision, ticks, borders } = await pacedSet(source, store);
  const [first, second, third] = borders as [bigint, bigint, bigint];
  const revisions = [
    baseRevision,
    baseRevision + 1n,
    first - 3n,
    first,
    second - 4n,
    second,
    third,
    third + 2n,
  ];
  for (const [index, toRevision] of revisions.entries()) {
    const truth = await readTruth(source.endpoint, toRevision);
    const applier = APPLIERS[index % APPLIERS.length] ?? 'native';
    const dataDir = dir.in(`revision-${toRevision}`);
    const result = await restoreFrom({ container: store, dataDir, version: VERSION, toRevision, applier });
    expect(result.plan.revision).toBe(toRevision);
    await expectRestored(VERSION, dataDir, truth);
  }
  for (const [index, at] of [0, 6, 10, 15, 21, 29].entries()) {
    const { revision, timeMs } = ticks[at] as Tick;
    const truth = await readTruth(source.endpoint, revision);
    const applier = APPLIERS[index % APPLIERS.length] ?? 'native';
    const dataDir = dir.in(`time-${index}`);
    const request = await requestFor({
      container: store,
      dataDir,
      version: VERSION,
      toTimeMs: timeMs,
      applier,
    });
    const result = await restore(request);
    expect(result.plan.revision).toBe(revision);
    expect(result.moment).toMatchObject({ unknown: undefined, reached: { revision } });
    await expectRestored(VERSION, dataDir, truth);
    const text = reportLines(reportOf(request, result)).join('\n');
    expect(text).toContain(
      `The state at ${new Date(timeMs).toISOString().replace('.000Z', 'Z')} is revision ${revision}`,
    );
    expect(text).toContain('left out, as asked');
    expect(text).not.toContain('NOT EXACT');
  }
}, 240_000);

test('what cannot be reached: below the oldest full, in a hole, before everything; each says what can', async () => {
  const source = await recorded(VERSION, dir.in('work'));
  const store = dir.in('store');
  await source.put('/a/', 9);
  await source.full(store);
  const base = await source.revision();
  await source.put('/b/', 5);
  const kept = await source.delta(base + 1n);
  await source.store(store, kept);
  await source.put('/c/', 5);
  const from = (await source.revision()) + 1n;
  await source.put('/d/', 5);
  await source.store(store, await source.delta(from));
  const ask = (change: object) =>
    restoreFrom({ container: store, dataDir: dir.in('data'), version: VERSION, ...change });
  await expect(ask({ toRevision: base - 1n })).rejects.toMatchObject({
    code: 'NOTHING_TO_RESTORE',
    message: expect.stringContaining(`no full is at or below revision ${base - 1n}`),
    hint: expect.stringContaining(`Revisions that can be restored to: ${base}-${kept.to}`),
  });
  await expect(ask({ toRevision: from + 1n })).rejects.toMatchObject({
    code: 'REVISION_GAP',
    hint: expect.stringMatching(new RegExp(`--allow-older[^]*can be restored to: ${base}-${kept.to}$`)),
  });
  await expect(ask({ toRevision: 9_999n })).rejects.toMatchObject({ code: 'REVISION_GAP' });
  await expect(ask({ toTimeMs: 1_000 })).rejects.toMatchObject({
    code: 'NOTHING_TO_RESTORE',
    hint: expect.stringContaining(`the earliest is revision ${base}`),
  });
  await expectOnly(dir.path, 'store', 'work');
  const older = await ask({ toRevision: from + 1n, allowOlder: true });
  expect(older.plan.revision).toBe(kept.to);
  expect(older.lostUpTo).toBe(from + 1n);
});

test('a time after everything is the newest state, and the report says so', async () => {
  const source = await recorded(VERSION, dir.in('work'));
  const store = dir.in('store');
  await source.put('/a/', 4);
  await source.full(store);
  const request = await requestFor({
    container: store,
    dataDir: dir.in('data'),
    version: VERSION,
    toTimeMs: Date.now() + 3_600_000,
  });
  const result = await restore(request);
  expect(result.plan.revision).toBe(await source.revision());
  expect(reportLines(reportOf(request, result)).join('\n')).toContain(
    'nothing in the store is later, so it is the newest',
  );
});
