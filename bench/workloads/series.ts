/** Restores of growing bases: time must grow as the bytes do, and memory not at all. One runs under a hard limit. */
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { formatBytes } from '../../src/base/bytes.js';
import { backupSet } from '../datasets/store.js';
import { LimitedGroup } from '../memory-limit.js';
import type { Size } from '../options.js';
import type { Bar, Contestant, Skipped } from '../results.js';
import { median } from '../statistics.js';
import { restoring } from './restore.js';
import { type Bench, type Entry, entry, type Outcome, race, type Workload } from './workload.js';

const MAX_RSS_BYTES = 200e6;
const MAX_RSS_GROWTH_BYTES = 10e6;
const MAX_SUPERLINEAR = 1.15;
const LIMIT_BYTES = 256 * 1024 ** 2;

export const series: Workload = {
  name: 'series',
  about: 'The same restore from one size to the next, and once in a cgroup of 256 MiB.',
  timeShare: 4,
  async prepare(size) {
    for (const mib of size.seriesMib) await backupSet(mib, eventsOf(size, mib));
  },
  async run(bench) {
    return [await sizes(bench), await limited(bench)];
  },
};

async function sizes(bench: Bench): Promise<Outcome> {
  const { ours, copying } = bench.engines;
  const entries: (Entry | Skipped)[] = [];
  for (const mib of bench.size.seriesMib) {
    const set = await backupSet(mib, eventsOf(bench.size, mib));
    const inputBytes = set.snapshotBytes;
    const size = formatBytes(mib * 1024 ** 2);
    entries.push(restoring(bench, ours, set.ours, set.revision, { name: `etcdbr, ${size}`, inputBytes }));
    const copy = { verb: 'copy' as const, file: set.snapshot, to: join(bench.workDir, 'copy') };
    entries.push(entry(copying, copy, { name: `copy + fsync, ${size}`, inputBytes }));
  }
  const raced = await race(bench, entries);
  return {
    title: 'Restores of growing size',
    input: `bases from seed 1 with ${Math.round(bench.size.eventsPerMib)} events for each MiB from seed 2`,
    ...raced,
    // A size that is missing would make the others look even.
    bars: raced.skipped.length > 0 ? [] : growthBars(raced.contestants.filter(({ role }) => role === 'ours')),
  };
}

/** Bars over a series, smallest first. */
export function growthBars(contestants: readonly Contestant[]): Bar[] {
  const [small, last] = [contestants.at(-2), contestants.at(-1)];
  if (small?.inputBytes === undefined || last?.inputBytes === undefined) return [];
  const memory = contestants.map(({ runs }) =>
    median(runs.map(({ peakRssBytes }) => peakRssBytes ?? Number.NaN)),
  );
  const grownBytes = last.inputBytes / small.inputBytes;
  const grownTime =
    median(last.runs.map(({ wallMs }) => wallMs)) / median(small.runs.map(({ wallMs }) => wallMs));
  return [
    {
      text: 'peak memory of the hungriest size',
      unit: 'bytes',
      values: [Math.max(...memory)],
      atMost: MAX_RSS_BYTES,
    },
    {
      text: 'memory, largest to smallest median',
      unit: 'bytes',
      values: [Math.max(...memory) - Math.min(...memory)],
      atMost: MAX_RSS_GROWTH_BYTES,
    },
    {
      text: 'time of the last step to the growth of its bytes',
      unit: 'times',
      values: [grownTime / grownBytes],
      atMost: MAX_SUPERLINEAR,
    },
  ];
}

async function limited(bench: Bench): Promise<Outcome> {
  const { ours } = bench.engines;
  const mib = Math.max(...bench.size.seriesMib);
  const set = await backupSet(mib, eventsOf(bench.size, mib));
  const name = `etcdbr in ${formatBytes(LIMIT_BYTES)}`;
  const group = await LimitedGroup.create(LIMIT_BYTES);
  try {
    const only: Entry | Skipped =
      typeof group === 'string'
        ? { name, reason: group }
        : restoring(bench, ours, set.ours, set.revision, {
            name,
            maxRounds: 1,
            wrap: (job) => group.wrap(job),
          });
    const raced = await race(bench, [only]);
    return {
      title: 'Restore under a memory limit',
      input: set.text,
      ...raced,
      bars: [],
    };
  } finally {
    if (typeof group !== 'string') await group.remove();
    await rm(join(bench.workDir, name), { recursive: true, force: true });
  }
}

function eventsOf({ eventsPerMib }: Size, mib: number): number {
  return Math.round(mib * eventsPerMib);
}
