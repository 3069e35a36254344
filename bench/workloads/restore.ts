/** A whole restore: base and deltas of a Local store into a data directory, with every proof that belongs to it. */
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { inspectDb } from '../../src/native/index.js';
import { type BackupSet, backupSet, gardenerSet } from '../datasets/store.js';
import type { Engine, StoreSet } from '../engines/engine.js';
import type { Skipped } from '../results.js';
import {
  type Bench,
  type Entry,
  type EntryOptions,
  entry,
  memoryBar,
  type Outcome,
  race,
  ratioBar,
  type Workload,
} from './workload.js';

/** Minutes for each run: more of them say little for their time. */
const SLOW_ROUNDS = 1;
const MAX_RSS_BYTES = 200e6;

export const restore: Workload = {
  name: 'restore',
  about:
    'From a Local store to a data directory that an etcd can start from. The revision of the result is checked.',
  timeShare: 8,
  prepare: ({ baseMib, events }) => gardenerSet(baseMib, events),
  async run(bench) {
    const { baseMib, events } = bench.size;
    const set = await backupSet(baseMib, events);
    return [await grown(bench, set), await baseAlone(bench, set)];
  },
};

async function grown(bench: Bench, set: BackupSet): Promise<Outcome> {
  const { ours, embedded, goTool, copying, digesting } = bench.engines;
  const theirs = await gardenerSet(bench.size.baseMib, bench.size.events);
  const goFormat = 'etcdbr, from gzip and JSON';
  const native = restoring(bench, ours, set.ours, set.revision);
  const result = join(bench.workDir, 'run' in native ? ours.name : embedded.name, 'member', 'snap', 'db');
  const raced = await race(bench, [
    native,
    restoring(bench, embedded, set.ours, set.revision, { maxRounds: SLOW_ROUNDS }),
    entry(copying, { verb: 'copy', file: result, to: join(bench.workDir, 'copy') }),
    entry(digesting, { verb: 'digest', file: result }),
    restoring(bench, ours, theirs.store, set.revision, { name: goFormat }),
    restoring(bench, goTool, theirs.store, set.revision, { maxRounds: SLOW_ROUNDS }),
  ]);
  const { contestants } = raced;
  const bar = (text: string, name: string, peers: readonly string[], atMost: number) =>
    ratioBar(text, contestants, { ours: name, theirs: peers, atMost });
  return {
    title: 'Restore of base and deltas',
    input: set.text,
    ...raced,
    bars: [
      ...bar('restore to the Go tool', ours.name, [goTool.name], 1 / 25),
      ...bar('restore from its own formats to the Go tool', goFormat, [goTool.name], 1 / 12),
      ...bar('restore to its floor, copy + fsync and sha256', ours.name, [copying.name, digesting.name], 1.5),
      ...memoryBar('peak memory of a restore', contestants, ours.name, MAX_RSS_BYTES),
      ...memoryBar('the same from gzip and JSON', contestants, goFormat, MAX_RSS_BYTES),
    ],
  };
}

async function baseAlone(bench: Bench, set: BackupSet): Promise<Outcome> {
  const { ours, etcdutl, copying } = bench.engines;
  const task = (name: string) => ({
    verb: 'restore-base' as const,
    set: set.base,
    snapshot: set.snapshot,
    dataDir: join(bench.workDir, name),
  });
  const raced = await race(bench, [
    ...[ours, etcdutl].map((engine) =>
      entry(engine, task(engine.name), around(bench, engine.name, set.baseRevision)),
    ),
    entry(copying, { verb: 'copy', file: set.snapshot, to: join(bench.workDir, 'copy') }),
  ]);
  const input = `${set.text}; ours from the .zst, etcdutl from the plain file`;
  return { title: 'Restore of the base alone', input, ...raced, bars: [] };
}

/** An entry that restores into a directory of its own below the work directory. */
export function restoring(
  bench: Bench,
  engine: Engine,
  set: StoreSet,
  revision: number,
  options: EntryOptions = {},
): Entry | Skipped {
  const name = options.name ?? engine.name;
  const task = { verb: 'restore' as const, set, dataDir: join(bench.workDir, name) };
  return entry(engine, task, { ...around(bench, name, revision), ...options });
}

/** Afresh each time, and only what holds the last revision counts. */
function around({ workDir }: Bench, name: string, revision: number): EntryOptions {
  const dataDir = join(workDir, name);
  return {
    before: () => rm(dataDir, { recursive: true, force: true }),
    after: async () => {
      const info = await inspectDb(join(dataDir, 'member', 'snap', 'db'));
      if (info.revision !== BigInt(revision)) {
        throw new Error(`${name} restored up to revision ${info.revision}, the backup holds ${revision}`);
      }
    },
  };
}
