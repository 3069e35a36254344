/** What a run of the benchmarks leaves behind, as JSON: everything that a report is drawn from. */

export type Role = 'ours' | 'peer' | 'floor';

/** One run of one contestant. What an engine's process gives; functions have a time alone. */
export interface Run {
  readonly wallMs: number;
  /** User and system time, children included. */
  readonly cpuMs?: number;
  readonly peakRssBytes?: number;
  /** Work per second, in the section's unit. */
  readonly rate?: number;
}

export interface Contestant {
  readonly name: string;
  readonly role: Role;
  readonly runs: readonly Run[];
  /** Of a series: how large its input was. */
  readonly inputBytes?: number;
  readonly note?: string;
}

/** What was not run, and why. Nothing is left out without a line here. */
export interface Skipped {
  readonly name: string;
  readonly reason: string;
  /** It was tried, and did not do what it should. */
  readonly failed?: true;
}

/** One demand on the figures, with what came out. */
export interface Bar {
  readonly text: string;
  readonly unit: 'times' | 'bytes';
  readonly atMost?: number;
  readonly atLeast?: number;
  /** One for each round. The median decides. */
  readonly values: readonly number[];
}

export interface Section {
  /** Of the workload it belongs to. */
  readonly workload: string;
  readonly title: string;
  /** What is done, in a sentence. */
  readonly about: string;
  /** What the input was: sizes, seed, how it was made. */
  readonly input: string;
  readonly rateUnit?: string;
  readonly contestants: readonly Contestant[];
  readonly skipped: readonly Skipped[];
  readonly bars: readonly Bar[];
}

export interface Machine {
  readonly cpu: string;
  readonly cores: number;
  readonly memoryBytes: number;
  readonly kernel: string;
  /** Sequential write of one file with fsync, and the median fsync of one 4 KiB write. */
  readonly diskBytesPerSecond: number;
  readonly fsyncMs: number;
  /** Of one minute, when the run began: more than the odd tenth means that the machine was shared. */
  readonly loadAverage: number;
  /** Program to version. */
  readonly versions: Readonly<Record<string, string>>;
}

export interface Results {
  readonly version: 1;
  readonly startedAt: string;
  readonly tookMs: number;
  readonly command: string;
  readonly size: string;
  readonly machine: Machine;
  readonly sections: readonly Section[];
  readonly skipped: readonly Skipped[];
}
