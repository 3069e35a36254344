import { expect, test } from 'vitest';
import { Load } from '../servers/load.js';
import { proveSet, readSet } from './prove-set.js';
import { setUp } from './set-up.js';

const FULL = { flags: { once: 'full' } };
const DELTA = { flags: { once: 'delta' } };

test('once: full, delta, nothing new, delta; each is one object, and together they are a chain', async () => {
  const { etcd, endpoint, place, start } = await setUp('3.7.3');
  const load = new Load(endpoint, { seed: 5, compactBehind: 0 });
  await load.run(50);
  await (await start(FULL)).ended;
  await load.run(200);
  const delta = await start(DELTA);
  await delta.ended;
  expect(delta.of('delta-stored')).toHaveLength(1);
  await proveSet(place.store, etcd, endpoint);
  const idle = await start(DELTA);
  await idle.ended;
  expect(idle.of('nothing-new')).toMatchObject([{ revision: (await endpoint.status()).revision }]);
  await load.run(20);
  await (await start(DELTA)).ended;
  const plan = await proveSet(place.store, etcd, endpoint);
  expect(plan.deltas).toHaveLength(2);
  await (await start(FULL)).ended;
  const fulls = (await readSet(place.store)).filter(({ name }) => name.kind === 'full');
  expect(fulls).toHaveLength(2);
  const newest = fulls.sort((a, b) => b.name.createdSecs - a.name.createdSecs)[0];
  expect(newest?.manifest).toMatchObject({ previous: { name: plan.deltas[1]?.object.name.text } });
});

test('a delta without a full to continue says what to do', async () => {
  const { start } = await setUp('3.6.16');
  await expect((await start(DELTA)).ended).rejects.toMatchObject({
    code: 'STALE',
    message: expect.stringMatching(/no full snapshot/),
    hint: expect.stringMatching(/--once full/),
  });
});

test('two runs with one spool: the second one says who holds it', async () => {
  const { start } = await setUp('3.6.16');
  const first = await start();
  await first.saw('full-stored');
  await expect((await start(DELTA)).ended).rejects.toMatchObject({ code: 'LOCKED' });
  await first.stop();
});
