/** Chains that names describe wrongly, that overlap, or whose leases expired long ago (hazards 1, 3, 4, 5). */
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import type { RecordedDelta } from '../restorer/recorder.js';
import { APPLIERS, restoreFrom } from '../restorer/request.js';
import { expectRestored, recorded, testDir } from '../restorer/set-up.js';
import { readTruth } from '../servers/truth.js';

const dir = testDir('chain');
const VERSION = '3.6.16';

describe.each(APPLIERS)('%s applier', (applier) => {
  describe('hazard 1: a full that holds more than its name says', () => {
    test('is used to its true revision, wherever that lies in the deltas', async () => {
      const source = await recorded(VERSION, dir.in('work'));
      const named = await source.put('/a/', 10);
      const fulls = new Map<number, string>([[0, await source.snapshot()]]);
      const deltas: RecordedDelta[] = [];
      for (let step = 1; step <= 60; step++) {
        await source.put(step % 3 === 0 ? '/b/' : '/c/', 1);
        if ([1, 19, 20, 21, 45].includes(step)) fulls.set(step, await source.snapshot());
        if (step % 20 === 0) deltas.push(await source.delta(named + BigInt(step - 19)));
      }
      const truth = await readTruth(source.endpoint);
      for (const [more, path] of fulls) {
        const store = dir.in(`store-${more}`);
        await source.full(store, { named, path });
        for (const delta of deltas) await source.store(store, delta);
        const dataDir = dir.in(`data-${more}`);
        const result = await restoreFrom({ applier, container: store, dataDir, version: VERSION });
        expect(result.base.info.revision).toBe(named + BigInt(more));
        expect(result.plan.revision).toBe(truth.revision);
        await expectRestored(VERSION, dataDir, truth);
      }
    });
  });

  describe('hazard 3: two writers', () => {
    test.each(['ebd', 'json'] as const)(
      '%s deltas that repeat, contain and overlap each other are applied once',
      async (format) => {
        const source = await recorded(VERSION, dir.in('work'));
        const start = await source.put('/a/', 10);
        const store = dir.in('store');
        await source.full(store);
        await source.put('/b/', 20);
        const first = await source.delta(start + 1n, format);
        await source.store(store, first);
        await source.put('/c/', 10);
        await source.store(store, await source.delta(start + 1n, format));
        await source.store(store, first);
        await source.store(store, await source.delta(start + 25n, format));
        await source.put('/d/', 10);
        await source.store(store, await source.delta(start + 26n, format));
        const truth = await readTruth(source.endpoint);
        const result = await restoreFrom({
          applier,
          container: store,
          dataDir: dir.in('data'),
          version: VERSION,
        });
        expect(result.plan.revision).toBe(start + 40n);
        await expectRestored(VERSION, dir.in('data'), truth);
      },
    );
  });

  describe('hazards 4 and 5: leases', () => {
    test('one that expired long ago takes no revision from the deltas', async () => {
      const source = await recorded(VERSION, dir.in('work'));
      const { ID } = await source.endpoint.lease.leaseGrant({ TTL: 2 });
      await source.endpoint.kv.put({ key: Buffer.from('short'), value: Buffer.from('lived'), lease: ID });
      const store = dir.in('store');
      const start = await source.put('/a/', 6);
      await source.full(store);
      await source.put('/b/', 4);
      const delta = await source.delta(start + 1n);
      const name = await source.store(store, delta);
      const truth = await readTruth(source.endpoint, start + 4n);
      await sleep(5_000);
      const result = await restoreFrom({
        applier,
        container: store,
        dataDir: dir.in('data'),
        version: VERSION,
      });
      expect(result.plan.deltas.map(({ object }) => object.name.text)).toEqual([name]);
      await expectRestored(VERSION, dir.in('data'), truth, { leases: false });
    });

    test.each(['3.4.23', '3.5.35', '3.6.16', '3.7.3'] as const)(
      'granted after the full, etcd %s: exact from our deltas, counted from deltas that lack them',
      async (version) => {
        const source = await recorded(version, dir.in('work'));
        const start = await source.put('/a/', 3);
        for (const store of ['ours', 'json']) await source.full(dir.in(store), { named: start });
        const { ID } = await source.endpoint.lease.leaseGrant({ TTL: 5_000 });
        const leased = (key: string) =>
          source.endpoint.kv.put({ key: Buffer.from(key), value: Buffer.from('v'), lease: ID });
        await leased('/l/1');
        await leased('/l/2');
        await source.store(dir.in('ours'), await source.delta(start + 1n));
        await source.store(dir.in('json'), await source.delta(start + 1n, 'json'));
        const truth = await readTruth(source.endpoint);
        const ours = await restoreFrom({
          applier,
          container: dir.in('ours'),
          dataDir: dir.in('data-ours'),
          version,
        });
        expect(ours.unknownLeases).toEqual({ leases: 0, keys: 0 });
        await expectRestored(version, dir.in('data-ours'), truth);
        const json = await restoreFrom({
          applier,
          container: dir.in('json'),
          dataDir: dir.in('data-json'),
          version,
        });
        expect(json.unknownLeases).toEqual({ leases: 1, keys: 2 });
        await expectRestored(version, dir.in('data-json'), truth, { leases: false });
      },
    );
  });
});
