/** A running agent and a merge of its store do not get into each other's way. */
import { expect, test } from 'vitest';
import { compactStore } from '../../src/compactor/compact.js';
import { parseCompactConfig } from '../../src/config/compact.js';
import { given } from '../config/given.js';
import { Load } from '../servers/load.js';
import { planOf, proveSet } from '../snapshotter/prove-set.js';
import { setUp } from '../snapshotter/set-up.js';

type Place = Awaited<ReturnType<typeof setUp>>['place'];

async function merge({ store, container, tempDir }: Place): Promise<string> {
  const result = await compactStore({
    ...parseCompactConfig(given({}), 'etcdbr'),
    ...{ store, tempDir, command: 'etcdbr compact' },
    settings: { provider: 'Local', container, prefix: '', homeDir: '/nowhere' },
    observer: { progress: () => undefined, warn: () => undefined, info: () => undefined },
  });
  if (!result.done) throw new Error(result.why);
  return result.name;
}

test('an agent that starts after the merge goes on with a delta behind it', async () => {
  const { etcd, endpoint, place, start } = await setUp('3.6.16');
  const load = new Load(endpoint, { seed: 61, compactBehind: 0 });
  await load.run(100);
  const first = await start();
  await first.saw('full-stored');
  await load.run(60);
  await first.saw('delta-stored');
  await first.stop();
  const name = await merge(place);
  const second = await start();
  await load.run(60);
  await second.saw('delta-stored');
  await second.stop();
  expect(second.of('start')).toMatchObject([{ start: 'continue' }]);
  const plan = await proveSet(place.store, etcd, endpoint);
  expect(plan.base.name.text).toBe(name);
  expect(plan.deltas.length).toBeGreaterThan(0);
});

test('a merge while the agent runs is behind what the agent stores meanwhile', async () => {
  const { etcd, endpoint, place, start } = await setUp('3.5.35');
  const load = new Load(endpoint, { seed: 62, compactBehind: 0 });
  await load.run(100);
  const backup = await start();
  await backup.saw('full-stored');
  await load.run(60);
  await backup.saw('delta-stored');
  const name = await merge(place);
  await load.run(60);
  await backup.saw('delta-stored', 2);
  await backup.stop();
  expect((await planOf(place.store)).base.name.text).toBe(name);
  await proveSet(place.store, etcd, endpoint);
});
