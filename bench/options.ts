/** The command line, parsed once. */
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { benchCache } from './datasets/cache.js';

export interface Size {
  readonly name: string;
  /** Records of the base, and revisions in the deltas above it: restore, full, verify, get. */
  readonly baseMib: number;
  readonly events: number;
  readonly checkMib: number;
  readonly compactMib: number;
  readonly compactEvents: number;
  /** Bases of the series; each has the same share of events. */
  readonly seriesMib: readonly number[];
  readonly eventsPerMib: number;
  readonly loadSeconds: number;
  /** Events of the functions that are timed in process. */
  readonly functionEvents: number;
  readonly listedObjects: number;
  readonly rounds: number;
}

export interface Options {
  readonly size: Size;
  /** Of the workloads; all of them when empty. */
  readonly only: readonly string[];
  /** A binary of the Go tool. */
  readonly peer: string | undefined;
  readonly etcdutl: string | undefined;
  readonly rounds: number;
  readonly outDir: string;
  /** No round begins when its workload's share of so many minutes has passed; the first always runs. Data sets are made before. */
  readonly minutes: number | undefined;
  readonly redraw: boolean;
  /** Makes the data sets and no more. */
  readonly prepare: boolean;
}

export const SIZES: Readonly<Record<string, Size>> = {
  TINY: {
    name: 'TINY',
    baseMib: 16,
    events: 3_000,
    checkMib: 16,
    compactMib: 16,
    compactEvents: 3_000,
    seriesMib: [8, 16],
    eventsPerMib: 200,
    loadSeconds: 2,
    functionEvents: 2_000,
    listedObjects: 500,
    rounds: 1,
  },
  SMALL: {
    name: 'SMALL',
    baseMib: 128,
    events: 20_000,
    checkMib: 128,
    compactMib: 128,
    compactEvents: 20_000,
    seriesMib: [64, 128, 256],
    eventsPerMib: 160,
    loadSeconds: 10,
    functionEvents: 100_000,
    listedObjects: 10_000,
    rounds: 3,
  },
  MEDIUM: {
    name: 'MEDIUM',
    baseMib: 1024,
    events: 170_000,
    checkMib: 1024,
    compactMib: 1024,
    compactEvents: 170_000,
    seriesMib: [256, 512, 1024],
    eventsPerMib: 170_000 / 1024,
    loadSeconds: 20,
    functionEvents: 500_000,
    listedObjects: 50_000,
    rounds: 3,
  },
  // The bars' own sizes: 3 GB and 500,000 revisions; 2 GiB to check; 2 GiB and 1,250,000, 8 GiB and 5,000,000 in the series.
  FULL: {
    name: 'FULL',
    baseMib: 2861,
    events: 500_000,
    checkMib: 2048,
    compactMib: 2048,
    compactEvents: 1_000_000,
    seriesMib: [256, 1024, 2048, 8192],
    eventsPerMib: 5_000_000 / 8192,
    loadSeconds: 60,
    functionEvents: 500_000,
    listedObjects: 100_000,
    rounds: 5,
  },
};

export const USAGE = `npm run bench -- [options]
  --only NAME[,NAME]   of the workloads (all; an unknown name lists them)
  --size NAME|BYTES    ${Object.keys(SIZES).join(', ')}, or bytes of the base, also as 512MiB or 2GiB (SMALL)
  --rounds N           of the contestants of a workload, interleaved (the size's)
  --minutes N          begins no further round of a workload when its share of so many minutes has passed
  --peer PATH          a binary of the Go tool
  --etcdutl PATH       another etcdutl than the cached 3.5.35
  --out DIR            where report and results go (bench/report; with --only: report in the cache)
  --prepare            makes the data sets and ends
  --redraw             draws the report anew from DIR/results.json
`;

/** Of whole runs only: a part of one never takes its place unasked. */
const COMMITTED_REPORT = join(fileURLToPath(new URL('.', import.meta.url)), 'report');
const MAX_ROUNDS = 100;
const MAX_MINUTES = 24 * 60;

/** Throws a RangeError that says what is wrong. */
export function parseOptions(args: readonly string[]): Options {
  const values = parseFlags(args);
  const size = parseSize(values.size);
  const only = values.only.flatMap((names) => names.split(',')).filter(Boolean);
  return {
    size,
    only,
    peer: values.peer,
    etcdutl: values.etcdutl,
    rounds: values.rounds === undefined ? size.rounds : whole('--rounds', values.rounds, MAX_ROUNDS),
    outDir: values.out ?? (only.length === 0 ? COMMITTED_REPORT : join(benchCache, 'report')),
    minutes: values.minutes === undefined ? undefined : whole('--minutes', values.minutes, MAX_MINUTES),
    redraw: values.redraw,
    prepare: values.prepare,
  };
}

function parseFlags(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      options: {
        only: { type: 'string', multiple: true, default: [] },
        size: { type: 'string', default: 'SMALL' },
        rounds: { type: 'string' },
        minutes: { type: 'string' },
        peer: { type: 'string' },
        etcdutl: { type: 'string' },
        out: { type: 'string' },
        redraw: { type: 'boolean', default: false },
        prepare: { type: 'boolean', default: false },
      },
    }).values;
  } catch (error) {
    throw new RangeError((error as Error).message);
  }
}

function parseSize(text: string): Size {
  const named = SIZES[text.toUpperCase()];
  if (named !== undefined) return named;
  const match = /^(\d+(?:\.\d+)?)(B|KiB|MiB|GiB)?$/i.exec(text);
  const unit = { b: 1, kib: 1024, mib: 1024 ** 2, gib: 1024 ** 3 }[(match?.[2] ?? 'b').toLowerCase()] ?? 1;
  const mib = Math.round((Number(match?.[1] ?? Number.NaN) * unit) / 1024 ** 2);
  if (!(mib >= 1)) {
    throw new RangeError(`--size ${text}: give ${Object.keys(SIZES).join(', ')}, or bytes, at least 1 MiB`);
  }
  const scale = mib / 1024;
  const medium = SIZES.MEDIUM as Size;
  return {
    ...medium,
    name: `${mib} MiB`,
    baseMib: mib,
    checkMib: mib,
    compactMib: mib,
    events: Math.max(1, Math.round(medium.events * scale)),
    compactEvents: Math.max(1, Math.round(medium.compactEvents * scale)),
    seriesMib: [0.25, 0.5, 1].map((share) => Math.max(1, Math.round(mib * share))),
  };
}

function whole(flag: string, text: string, max: number): number {
  const value = Number(text);
  if (!Number.isSafeInteger(value) || value < 1 || value > max) {
    throw new RangeError(`${flag} ${text}: give a whole number from 1 to ${max}`);
  }
  return value;
}
