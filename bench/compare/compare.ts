/** Runs two builds in turn, each between two runs of the floor. */
import type { Engine } from '../engines/engine.js';
import { type Job, type Measured, measure } from '../measure.js';
import type { Case } from './cases.js';
import { judge, type Pair, type Verdict } from './verdict.js';

export interface Builds {
  readonly base: Engine;
  readonly next: Engine;
}

export interface Judged extends Verdict {
  readonly case: string;
  readonly measure: 'wall' | 'CPU';
}

/** Wall time finds what waits, CPU time finds what works, on a busy machine too. */
export const MEASURES = ['wall', 'CPU'] as const;

/** What was judged, or why the case was not run. */
export async function compareCase(
  each: Case,
  { base, next }: Builds,
  { rounds, judgements }: { readonly rounds: number; readonly judgements: number },
): Promise<readonly Judged[] | string> {
  const [baseJob, nextJob] = [each.job(base), each.job(next)];
  if (typeof baseJob === 'string') return `base: ${baseJob}`;
  if (typeof nextJob === 'string') return `next: ${nextJob}`;
  const pairs: Record<(typeof MEASURES)[number], Pair[]> = { wall: [], CPU: [] };
  // Whatever is cold is warmed by a run of each that does not count.
  for (const job of [each.floor, baseJob, nextJob]) await afresh(each, job);
  for (let round = 0; round < rounds; round++) {
    const inTurn = round % 2 === 0 ? [baseJob, nextJob] : [nextJob, baseJob];
    const floors = [await measure(each.floor)];
    const runs: Measured[] = [];
    for (const job of inTurn) {
      runs.push(await afresh(each, job));
      floors.push(await measure(each.floor));
    }
    const [first, second] = [0, 1].map((at) => toFloor(runs, floors, at));
    for (const kind of MEASURES) {
      const values = { base: first?.[kind] ?? Number.NaN, next: second?.[kind] ?? Number.NaN };
      pairs[kind].push(round % 2 === 0 ? values : { base: values.next, next: values.base });
    }
  }
  return MEASURES.map((kind) => ({ case: each.name, measure: kind, ...judge(pairs[kind], judgements) }));
}

async function afresh(each: Case, job: Job): Promise<Measured> {
  await each.reset();
  return measure(job);
}

/** One run in terms of the floor's before and after it. */
function toFloor(runs: readonly Measured[], floors: readonly Measured[], at: number) {
  const [run, before, after] = [runs[at], floors[at], floors[at + 1]];
  if (run === undefined || before === undefined || after === undefined) throw new Error('a run is missing');
  return {
    wall: (2 * run.wallMs) / (before.wallMs + after.wallMs),
    // The floor's CPU time may be a few ticks only; that of the other build in the same round is measure enough.
    CPU: run.cpuMs,
  };
}
