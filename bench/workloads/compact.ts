/** Base and deltas of a store merged into one new full. */
import { cp, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { parseName } from '../../src/snapshot/name.js';
import { DELTA_KEYS } from '../datasets/deltas.js';
import { KEYS } from '../datasets/member.js';
import { backupSet } from '../datasets/store.js';
import { entry, memoryBar, race, ratioBar, type Workload } from './workload.js';

const MAX_FIXED_BYTES = 100e6;
const MAX_BYTES_PER_KEY = 64;

export const compact: Workload = {
  name: 'compact',
  about: "A store's base and deltas become one new full in the store, without an etcd.",
  timeShare: 3,
  prepare: ({ compactMib, compactEvents }) => backupSet(compactMib, compactEvents),
  async run(bench) {
    const { ours, copying, digesting } = bench.engines;
    const set = await backupSet(bench.size.compactMib, bench.size.compactEvents);
    const container = join(bench.workDir, 'store');
    const raced = await race(bench, [
      entry(
        ours,
        { verb: 'compact', set: { container, gardener: false } },
        {
          before: async () => {
            await rm(container, { recursive: true, force: true });
            await cp(set.ours.container, container, { recursive: true, mode: 2 });
          },
          after: () => expectFull(container, set.revision),
        },
      ),
      entry(copying, { verb: 'copy', file: set.snapshot, to: join(bench.workDir, 'copy') }),
      entry(digesting, { verb: 'digest', file: set.snapshot }),
    ]);
    const liveKeys = Math.min(KEYS, set.baseRevision - 1) + Math.min(DELTA_KEYS, bench.size.compactEvents);
    const bars = [
      ...ratioBar('compact to its floor, copy + fsync and sha256 of the base', raced.contestants, {
        ours: ours.name,
        theirs: [copying.name, digesting.name],
        atMost: 2.5,
      }),
      ...memoryBar(
        `peak memory of a compact of up to ${liveKeys} live keys`,
        raced.contestants,
        ours.name,
        MAX_FIXED_BYTES + MAX_BYTES_PER_KEY * liveKeys,
      ),
    ];
    return [{ title: 'Compact of a store', input: set.text, ...raced, bars }];
  },
};

async function expectFull(container: string, revision: number): Promise<void> {
  const names = (await readdir(join(container, 'v2'))).map(parseName);
  const found = names.some(
    (parsed) => parsed.ok && parsed.name.kind === 'full' && parsed.name.last === BigInt(revision),
  );
  if (!found) throw new Error(`no full of revision ${revision} came into the store`);
}
