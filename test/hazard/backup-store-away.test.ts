/** Hazards 10 and 32 on the backup's side, and B10: the store is away, slow or full, or the backup is asked to stop. */
import { readdir } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { Load } from '../servers/load.js';
import { Random } from '../servers/random.js';
import { proveSet, readSet } from '../snapshotter/prove-set.js';
import { setUp } from '../snapshotter/set-up.js';
import { type FaultRule, FaultyStore } from '../store/faulty.js';

const AWAY: FaultRule['fault'] = { kind: 'error', code: 'UNAVAILABLE' };

describe('a store that is away', () => {
  test.each(['UNAVAILABLE', 'PERMISSION', 'NO_SPACE', 'TIMEOUT'] as const)(
    'deltas wait in the spool while it answers %s, and then nothing is missing',
    async (code) => {
      const { etcd, endpoint, place, start } = await setUp('3.6.16');
      const load = new Load(endpoint, { seed: 7, compactBehind: 0 });
      const store = new FaultyStore(place.store, [
        { on: 'put', key: /Incr/, times: 3, fault: { kind: 'error', code } },
        { on: 'put', key: /Incr/, times: 1, fault: { kind: 'lostReply', code: 'UNAVAILABLE' } },
      ]);
      const backup = await start({ store });
      await backup.saw('full-stored');
      await load.run(100);
      await backup.saw('failed', 2);
      await load.run(100);
      await backup.saw('delta-stored', 2);
      await backup.stop();
      expect(backup.of('full-stored')).toHaveLength(1);
      expect(backup.of('failed').map(({ retryMs }) => retryMs > 0)).toEqual(
        backup.of('failed').map(() => true),
      );
      await proveSet(place.store, etcd, endpoint);
    },
  );

  test('away when the full is to be stored: it is not streamed again, and deltas follow it', async () => {
    const { etcd, endpoint, place, start } = await setUp('3.5.35');
    const load = new Load(endpoint, { seed: 8, compactBehind: 0 });
    await load.run(50);
    const rules: FaultRule[] = [{ on: 'put', key: /Full/, times: 2, fault: AWAY }];
    const backup = await start({ store: new FaultyStore(place.store, rules) });
    await backup.saw('failed', 2);
    await load.run(100);
    await backup.saw('delta-stored');
    await backup.stop();
    expect(backup.of('start')).toHaveLength(1);
    await proveSet(place.store, etcd, endpoint);
  });

  test('away at the start: it is waited for', async () => {
    const { etcd, endpoint, place, start } = await setUp('3.5.35');
    const rules: FaultRule[] = [{ on: 'list', times: 2, fault: AWAY }];
    const backup = await start({ store: new FaultyStore(place.store, rules) });
    await backup.saw('full-stored');
    await backup.stop();
    expect(backup.of('failed')).toMatchObject([{ what: 'start' }, { what: 'start' }]);
    await proveSet(place.store, etcd, endpoint);
  });

  test('for good: the stop is bounded, says what waits, and the next start publishes it', async () => {
    const { etcd, endpoint, place, start } = await setUp('3.6.16');
    const load = new Load(endpoint, { seed: 9, compactBehind: 0 });
    const first = await start();
    await first.saw('full-stored');
    await first.stop();
    const rules: FaultRule[] = [{ on: 'put', fault: AWAY }];
    const second = await start({ store: new FaultyStore(place.store, rules), graceMs: 1_500 });
    await load.run(50);
    await second.saw('failed');
    await load.run(50);
    const stoppedMs = Date.now();
    await expect(second.stop()).rejects.toMatchObject({
      code: 'CANCELLED',
      message: expect.stringMatching(/deltas could not be stored in time/),
    });
    expect(Date.now() - stoppedMs).toBeLessThan(4_000);
    // What is in the spool may be the only copy: etcd compacts it.
    const { revision } = await endpoint.status();
    const third = await start();
    await third.saw('delta-stored', 2);
    await third.stop();
    expect(third.of('full-stored')).toEqual([]);
    expect((await proveSet(place.store, etcd, endpoint)).revision).toBe(revision);
  });

  test('a full spool pauses the watch, and goes on when there is room', async () => {
    const { etcd, endpoint, place, start } = await setUp('3.6.16');
    const rules: FaultRule[] = [{ on: 'put', key: /Incr/, times: 3, fault: AWAY }];
    const flags = { 'spool-max-bytes': String(1024 * 1024), 'delta-snapshot-memory-limit': '300000' };
    const backup = await start({ store: new FaultyStore(place.store, rules), flags });
    await backup.saw('full-stored');
    const random = new Random(3);
    for (let at = 0; at < 60; at++)
      await endpoint.kv.put({ key: Buffer.from(`key-${at}`), value: random.bytes(50_000) });
    await backup.saw('spool-full', 2);
    await backup.stop();
    expect(backup.of('spool-full').slice(0, 2)).toMatchObject([{ paused: true }, { paused: false }]);
    await proveSet(place.store, etcd, endpoint);
  });
});

describe('asked to stop (hazard 10)', () => {
  test('at ten moments of a slow upload: no object half-made, what was written is stored or waits in the spool', async () => {
    const { etcd, endpoint, place, start } = await setUp('3.6.16');
    const load = new Load(endpoint, { seed: 10, compactBehind: 0 });
    await load.run(100);
    for (let point = 0; point < 10; point++) {
      const rules: FaultRule[] = [{ on: 'put', fault: { kind: 'slow', delayMs: 120 } }];
      const backup = await start({ store: new FaultyStore(place.store, rules) });
      await load.run(20);
      await sleep(point * 70);
      await load.run(1);
      await backup.stop().catch((error) => expect(error).toMatchObject({ code: 'CANCELLED' }));
      await readSet(place.store);
      if (backup.of('full-stored').length > 0) await proveSet(place.store, etcd, endpoint);
    }
    const last = await start();
    await load.run(5);
    await last.saw('delta-stored');
    await last.stop();
    await proveSet(place.store, etcd, endpoint);
  });

  test('while the full is streamed or stored: promptly, nothing is published, nothing is left', async () => {
    const { place, start } = await setUp('3.6.16');
    const rules: FaultRule[] = [{ on: 'put', key: /Full/, fault: { kind: 'hang' } }];
    const backup = await start({ store: new FaultyStore(place.store, rules) });
    await backup.saw('watching');
    await sleep(400);
    const stoppedMs = Date.now();
    await expect(backup.stop()).rejects.toMatchObject({ code: 'CANCELLED' });
    expect(Date.now() - stoppedMs).toBeLessThan(2_000);
    expect(await readSet(place.store)).toEqual([]);
    expect(await readdir(place.tempDir)).toEqual([]);
  });

  test('events written just before are in the store', async () => {
    const { etcd, endpoint, place, start } = await setUp('3.6.16');
    const flags = { 'delta-snapshot-period': '1h' };
    const backup = await start({ flags });
    await backup.saw('full-stored');
    await new Load(endpoint, { seed: 12, compactBehind: 0 }).run(200);
    await backup.stop();
    expect(backup.of('delta-stored')).toHaveLength(1);
    await proveSet(place.store, etcd, endpoint);
  });
});
