/** What a workload is given and what it hands back. */

import type { Engine, Task } from '../engines/engine.js';
import { type Job, measure } from '../measure.js';
import type { Size } from '../options.js';
import type { Bar, Contestant, Role, Run, Section, Skipped } from '../results.js';
import { ratios } from '../statistics.js';

export interface Workload {
  readonly name: string;
  readonly about: string;
  /** Of the time that a run is given (`--minutes`), in parts of the sum over all workloads that run. */
  readonly timeShare: number;
  /** Makes its data sets, before anything is timed. */
  prepare?(size: Size): Promise<unknown>;
  run(bench: Bench): Promise<Outcome[]>;
}

export type Outcome = Omit<Section, 'workload' | 'about'>;

export interface Engines {
  readonly ours: Engine;
  readonly embedded: Engine;
  readonly etcdctl: Engine;
  readonly etcdutl: Engine;
  readonly bbolt: Engine;
  readonly goTool: Engine;
  readonly reading: Engine;
  readonly copying: Engine;
  readonly digesting: Engine;
  readonly decompressing: Engine;
}

export interface Bench {
  readonly size: Size;
  readonly rounds: number;
  readonly engines: Engines;
  /** Empty, on the disk that data directories are restored to; removed after the workload. */
  readonly workDir: string;
  /** `performance.now()` after which no further round begins. */
  readonly deadlineMs: number;
}

/** One line of a section's table. */
export interface Entry {
  readonly name: string;
  readonly role: Role;
  readonly run: () => Promise<Run & { readonly note?: string }>;
  /** Slow ones run in the first rounds only. */
  readonly maxRounds?: number;
  readonly inputBytes?: number;
}

export interface EntryOptions extends Pick<Entry, 'maxRounds' | 'inputBytes'> {
  /** Where it differs from the engine's. */
  readonly name?: string;
  readonly before?: () => Promise<void>;
  /** Looks at what came out, untimed: a wrong result is no result. Throws. */
  readonly after?: (stdout: string) => Promise<void>;
  /** Puts the process elsewhere, say under a limit. */
  readonly wrap?: (job: Job) => Job;
}

/** The engine at this task: an entry, or why there is none. */
export function entry(engine: Engine, task: Task, options: EntryOptions = {}): Entry | Skipped {
  const { name = engine.name, before, after, wrap = (job: Job) => job, ...rest } = options;
  const job = engine.job(task);
  if (job === undefined) throw new Error(`${engine.name} never does "${task.verb}"`);
  if (typeof job === 'string') return { name, reason: job };
  const run = async () => {
    await before?.();
    const { stdout, ...figures } = await measure(wrap(job));
    await after?.(stdout);
    return figures;
  };
  return { name, role: engine.role, run, ...rest };
}

/** Runs all in turn, round by round, so that a machine that drifts drifts for all of them. */
export async function race(
  { rounds, deadlineMs }: Pick<Bench, 'rounds' | 'deadlineMs'>,
  entries: readonly (Entry | Skipped)[],
): Promise<Pick<Section, 'contestants' | 'skipped'>> {
  const lanes = entries
    .filter((each): each is Entry => 'run' in each)
    .map((each) => ({ each, runs: [] as Run[], note: undefined as string | undefined }));
  const skipped = entries.filter((each): each is Skipped => 'reason' in each);
  const failed = new Set<Entry>();
  for (let round = 0; round < rounds && (round === 0 || performance.now() < deadlineMs); round++) {
    for (const lane of lanes) {
      if (round >= (lane.each.maxRounds ?? rounds) || failed.has(lane.each)) continue;
      try {
        const { note, ...run } = await lane.each.run();
        lane.runs.push(run);
        lane.note = note;
      } catch (error) {
        failed.add(lane.each);
        skipped.push({ name: lane.each.name, reason: (error as Error).message, failed: true });
      }
    }
  }
  const contestants = lanes
    .filter(({ runs }) => runs.length > 0)
    .map(
      ({ each: { name, role, inputBytes }, runs, note }): Contestant => ({
        name,
        role,
        runs,
        ...(inputBytes === undefined ? {} : { inputBytes }),
        ...(note === undefined || note === '' ? {} : { note }),
      }),
    );
  return { contestants, skipped };
}

type Limit = Pick<Bar, 'atMost' | 'atLeast'>;

/** `ours` in terms of the sum of `theirs`, round by round; no bar when one of them did not run. */
export function ratioBar(
  text: string,
  contestants: readonly Contestant[],
  { ours, theirs, ...limit }: { readonly ours: string; readonly theirs: readonly string[] } & Limit,
  of: (run: Run) => number = ({ wallMs }) => wallMs,
): Bar[] {
  const find = (name: string) => contestants.find((each) => each.name === name)?.runs.map(of);
  const own = find(ours);
  const others = theirs.map(find);
  if (own === undefined || others.some((each) => each === undefined)) return [];
  const sums = own.map((_, round) =>
    others.reduce((sum, each) => sum + (each?.[Math.min(round, each.length - 1)] ?? Number.NaN), 0),
  );
  return [{ text, unit: 'times', values: ratios(own, sums), ...limit }];
}

/** Peak memory of one contestant. */
export function memoryBar(
  text: string,
  contestants: readonly Contestant[],
  name: string,
  atMost: number,
): Bar[] {
  const runs = contestants.find((each) => each.name === name)?.runs;
  if (runs === undefined) return [];
  return [{ text, unit: 'bytes', values: runs.map(({ peakRssBytes = Number.NaN }) => peakRssBytes), atMost }];
}
