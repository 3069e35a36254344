/** Hazards 8, 9, 43 and 44 on the backup's side: history that is gone, far away, or another one. */
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import type { EtcdEndpoint } from '../../src/etcd/endpoint.js';
import { planRestore } from '../../src/snapshot/chain.js';
import { blast } from '../servers/blast.js';
import { restoreByTool, type TestEtcd } from '../servers/etcd.js';
import { Load } from '../servers/load.js';
import { Random } from '../servers/random.js';
import { proveSet, readSet } from '../snapshotter/prove-set.js';
import { setUp } from '../snapshotter/set-up.js';

describe('a history that does not reach back', () => {
  test('revisions compacted between two runs: a full within one cycle, and the old set stays (hazard 8)', async () => {
    const { etcd, endpoint, place, start } = await setUp('3.5.35');
    await put(endpoint, 10);
    const first = await start();
    await first.saw('full-stored');
    await first.stop();
    await put(endpoint, 100);
    const { revision } = await endpoint.status();
    await endpoint.kv.compact({ revision: String(revision), physical: true });
    await put(endpoint, 5);
    const second = await start();
    await second.saw('full-stored');
    await second.stop();
    expect(second.of('start')).toMatchObject([{ start: 'full', reason: expect.stringMatching(/compacted/) }]);
    expect((await readSet(place.store)).filter(({ name }) => name.kind === 'full')).toHaveLength(2);
    await proveSet(place.store, etcd, endpoint);
  });

  test('far behind: a full is taken, not a catch-up (hazard 43; ETCDBR_BEHIND=200000 is the full form)', async () => {
    const behind = Number(process.env.ETCDBR_BEHIND ?? 20_000);
    const flags = { 'max-catch-up-revisions': String(behind / 4) };
    const { etcd, endpoint, place, start } = await setUp('3.6.16');
    const first = await start({ flags });
    await first.saw('full-stored');
    await first.stop();
    await blast(etcd.connection(), { seed: 1, keys: 5_000, valueBytes: 20, inFlight: 200, puts: behind });
    const second = await start({ flags });
    await second.saw('full-stored');
    await second.stop();
    expect(second.of('start')).toMatchObject([
      { start: 'full', reason: expect.stringMatching(/revisions ahead of the store, more than/) },
    ]);
    expect(await slowWatchers(etcd)).toBe(0);
    await proveSet(place.store, etcd, endpoint);
  }, 300_000);

  test('at full speed the watcher stays synced, and no event is lost (hazard 43)', async () => {
    const { etcd, endpoint, place, start } = await setUp('3.6.16');
    const backup = await start();
    await backup.saw('full-stored');
    const slow: number[] = [];
    const looking = setInterval(() => void slowWatchers(etcd).then((count) => slow.push(count)), 200);
    await blast(etcd.connection(), { seed: 2, keys: 5_000, valueBytes: 300, inFlight: 100, puts: 30_000 });
    clearInterval(looking);
    await backup.stop();
    expect(slow.filter((count) => count > 0).length).toBeLessThanOrEqual(slow.length / 10);
    await proveSet(place.store, etcd, endpoint);
  });
});

describe('etcd away for a moment', () => {
  test('restarted in the middle of deltas: nothing is lost or repeated (hazard 9)', async () => {
    const { etcd, endpoint, place, start } = await setUp('3.4.23');
    const load = new Load(endpoint, { seed: 9, compactBehind: 0 });
    const backup = await start();
    await backup.saw('full-stored');
    for (const how of ['restart', 'kill', 'restart'] as const) {
      await load.run(150);
      if (how === 'kill') await etcd.kill();
      await (how === 'kill' ? etcd.start() : etcd.restart());
    }
    await load.run(50);
    await backup.stop();
    expect(backup.of('watch-broken').length).toBeGreaterThanOrEqual(3);
    expect(backup.of('full-stored')).toHaveLength(1);
    await proveSet(place.store, etcd, endpoint);
  });
});

test('etcd killed at random moments of a load: every event is in the store, and fulls go on (B11)', async () => {
  const { etcd, endpoint, place, start } = await setUp('3.7.3');
  const random = new Random(11);
  const load = new Load(endpoint, { seed: 11, compactBehind: 0 });
  const backup = await start();
  await backup.saw('full-stored');
  for (let round = 0; round < 4; round++) {
    const loading = load.run(500).catch(() => undefined);
    await sleep(50 + random.int(400));
    await etcd.kill();
    await loading;
    await etcd.start();
  }
  await load.run(20);
  await backup.stop();
  expect(backup.of('full-stored')).toHaveLength(1);
  await proveSet(place.store, etcd, endpoint);
});

describe('a history that was replaced (hazard 44)', () => {
  test('under a running agent, though ids, term and revision look alike: a new set, never a mix', async () => {
    const { etcd, endpoint, place, start } = await setUp('3.5.35');
    const backup = await start();
    await backup.saw('full-stored');
    await put(endpoint, 30, 'common');
    const snapshot = join(place.dir, 'common.db');
    await etcd.ctl('snapshot', 'save', snapshot);
    await put(endpoint, 40, 'A');
    await backup.until(() => backup.of('delta-stored').some(({ events }) => events > 0));
    await rollBack(etcd, snapshot, 60);
    await backup.saw('full-stored', 2);
    // Names tell seconds: within one, the newest of two branches cannot be told.
    await sleep(1_100);
    await put(endpoint, 10, 'B');
    await backup.stop();
    await neverMixed(place.store);
    const { revision: newestRevision } = await endpoint.status();
    const [newest] = forkBranches(await planned(place.store));
    expect(newest).toMatchObject({ begins: 'undeclared', isNewest: true, highestRevision: newestRevision });
  });

  test('between two runs: another history that has passed the old end is not continued', async () => {
    const { etcd, endpoint, place, start } = await setUp('3.6.16');
    const first = await start();
    await first.saw('full-stored');
    await put(endpoint, 30, 'common');
    const snapshot = join(place.dir, 'common.db');
    await etcd.ctl('snapshot', 'save', snapshot);
    await put(endpoint, 40, 'A');
    await first.stop();
    await rollBack(etcd, snapshot, 100);
    const second = await start();
    await second.saw('full-stored');
    await second.stop();
    expect(second.of('start')).toMatchObject([{ start: 'full', reason: expect.stringMatching(/replaced/) }]);
    await neverMixed(place.store);
    // The third run finds its own set and goes on.
    const third = await start();
    await put(endpoint, 5, 'B');
    await third.saw('delta-stored');
    await third.stop();
    expect(third.of('start')).toMatchObject([{ start: 'continue' }]);
    const result = await planned(place.store);
    expect(result.kind).toBe('fork');
  });

  test('an etcd that is behind the store is begun anew, and says so', async () => {
    const { etcd, endpoint, place, start } = await setUp('3.7.3');
    const first = await start();
    await first.saw('full-stored');
    const snapshot = join(place.dir, 'early.db');
    await etcd.ctl('snapshot', 'save', snapshot);
    await put(endpoint, 40, 'A');
    await first.stop();
    await rollBack(etcd, snapshot, 3);
    const second = await start();
    await second.saw('full-stored');
    await second.stop();
    expect(second.of('start')).toMatchObject([
      { reason: expect.stringMatching(/has not reached revision 41/) },
    ]);
    await neverMixed(place.store);
  });
});

async function put(endpoint: EtcdEndpoint, count: number, value = 'value'): Promise<void> {
  for (let at = 0; at < count; at++) {
    await endpoint.kv.put({ key: Buffer.from(`key-${at}`), value: Buffer.from(`${value}-${at}`) });
  }
}

/** As an operator does it: same name, token and URLs, so every id is as before. Then it is written to. */
async function rollBack(etcd: TestEtcd, snapshot: string, puts: number): Promise<void> {
  await etcd.kill();
  await rm(etcd.dataDir, { recursive: true });
  await restoreByTool(etcd.version, snapshot, etcd.dataDir);
  await etcd.start();
  const endpoint = await etcd.open();
  await put(endpoint, puts, 'B');
  endpoint.close();
}

async function planned(store: Parameters<typeof readSet>[0]) {
  return planRestore({ objects: await readSet(store) });
}

function forkBranches(result: Awaited<ReturnType<typeof planned>>) {
  if (result.kind !== 'fork') throw new Error(`expected a fork, planned ${result.kind}`);
  return result.branches;
}

/** Every object continues the one that it names, and none that holds history A continues to B. */
async function neverMixed(store: Parameters<typeof readSet>[0]): Promise<void> {
  const objects = await readSet(store);
  const diverged = objects.filter(({ manifest }) => manifest?.divergedFrom !== undefined);
  expect(diverged).toHaveLength(1);
  const [begins] = diverged;
  const since = begins?.name.createdSecs ?? 0;
  for (const { name, manifest } of objects) {
    const previous = manifest?.previous?.name;
    if (previous === undefined || name.createdSecs <= since) continue;
    const before = objects.find((object) => object.name.text === previous);
    expect(before?.name.createdSecs).toBeGreaterThanOrEqual(since);
  }
}

async function slowWatchers(etcd: TestEtcd): Promise<number> {
  const text = await (await fetch(`${etcd.endpoint}/metrics`)).text();
  return Number(/^etcd_debugging_mvcc_slow_watcher_total (\S+)$/m.exec(text)?.[1] ?? Number.NaN);
}
