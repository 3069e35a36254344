/** One key, straight out of a store. */
import { VALUE_BYTES } from '../datasets/member.js';
import { backupSet } from '../datasets/store.js';
import { entry, memoryBar, race, ratioBar, type Workload } from './workload.js';

const BASE_KEY = '/registry/configmaps/bench/key-000000004242';
const MAX_RSS_BYTES = 150e6;

export const get: Workload = {
  name: 'get',
  about: 'One key of the base is looked up in a store with a zstd full and its deltas, or in the full alone.',
  timeShare: 1,
  prepare: ({ baseMib, events }) => backupSet(baseMib, events),
  async run(bench) {
    const { ours, decompressing } = bench.engines;
    const set = await backupSet(bench.size.baseMib, bench.size.events);
    const after = async (stdout: string) => {
      const { length } = stdout.trimEnd();
      if (length !== VALUE_BYTES) throw new Error(`a value of ${length} bytes, not ${VALUE_BYTES}`);
    };
    const fullOnly = 'etcdbr, full alone';
    const raced = await race(bench, [
      entry(ours, { verb: 'get', set: set.base, key: BASE_KEY }, { name: fullOnly, after }),
      entry(ours, { verb: 'get', set: set.ours, key: BASE_KEY }, { after }),
      entry(decompressing, { verb: 'decompress', packed: set.packedFull }),
    ]);
    const bars = [
      ...ratioBar('get of one key from a full to decompression alone', raced.contestants, {
        ours: fullOnly,
        theirs: [decompressing.name],
        atMost: 1.5,
      }),
      ...memoryBar('peak memory of a get', raced.contestants, ours.name, MAX_RSS_BYTES),
    ];
    return [{ title: 'Get of one key', input: set.text, ...raced, bars }];
  },
};
