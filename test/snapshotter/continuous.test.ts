import { readdir } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';
import { ETCD_VERSIONS } from '../servers/binaries.js';
import { Load } from '../servers/load.js';
import { proveSet } from './prove-set.js';
import { setUp } from './set-up.js';

describe.each(ETCD_VERSIONS)('etcd %s', (version) => {
  test('a full and deltas under load hold every record; a restart goes on with deltas', async () => {
    const { etcd, endpoint, place, start } = await setUp(version);
    const load = new Load(endpoint, { seed: 11, compactBehind: 0 });
    await load.run(300);
    const first = await start();
    const loading = load.run(1_500);
    await first.saw('full-stored');
    await first.saw('delta-stored', 2);
    await loading;
    await first.stop();
    expect(first.of('failed')).toEqual([]);
    await proveSet(place.store, etcd, endpoint);

    await load.run(200);
    const second = await start();
    await second.saw('delta-stored');
    await load.run(50);
    await second.stop();
    expect(second.of('start')).toMatchObject([{ start: 'continue' }]);
    expect(second.of('full-stored')).toEqual([]);
    const plan = await proveSet(place.store, etcd, endpoint);
    expect(plan.deltas.length).toBeGreaterThan(3);
    const starts = plan.deltas.slice(1).map(({ object }) => object.name.start);
    expect(starts).toEqual(plan.deltas.slice(0, -1).map(({ object }) => object.name.last + 1n));
    expect(await readdir(place.tempDir)).toEqual([]);
  });
});
