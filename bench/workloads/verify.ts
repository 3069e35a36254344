/** Verification of one snapshot file, and of a store with all that it holds. */
import { backupSet } from '../datasets/store.js';

import { type Bench, entry, type Outcome, race, ratioBar, type Workload } from './workload.js';

export const verify: Workload = {
  name: 'verify',
  about: 'Digest, pages, records and the chain.',
  timeShare: 2,
  prepare: ({ baseMib, events }) => backupSet(baseMib, events),
  async run(bench) {
    const set = await backupSet(bench.size.baseMib, bench.size.events);
    return [await file(bench, set), await store(bench, set)];
  },
};

type Set = Awaited<ReturnType<typeof backupSet>>;

async function file(bench: Bench, { snapshot, text }: Set): Promise<Outcome> {
  const { ours, etcdutl, digesting } = bench.engines;
  const raced = await race(bench, [
    entry(ours, { verb: 'verify', snapshot }),
    entry(digesting, { verb: 'digest', file: snapshot }),
    entry(etcdutl, { verb: 'verify', snapshot }),
  ]);
  const bars = ratioBar('verify of a snapshot to sha256 of it', raced.contestants, {
    ours: ours.name,
    theirs: [digesting.name],
    atMost: 1.3,
  });
  return {
    title: 'Verify of a snapshot file',
    input: `${text}: its base`,
    ...raced,
    bars,
  };
}

async function store(bench: Bench, { ours: set, packedFull, text }: Set): Promise<Outcome> {
  const { ours, decompressing } = bench.engines;
  const raced = await race(bench, [
    entry(ours, { verb: 'verify-store', set }),
    entry(
      decompressing,
      { verb: 'decompress', packed: packedFull },
      { name: 'decompression of the full alone' },
    ),
  ]);
  return { title: 'Verify of a store', input: text, ...raced, bars: [] };
}
