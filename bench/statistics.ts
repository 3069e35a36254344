/** What is said of several runs. Pure functions, so that tests feed them made-up samples. */

export interface Spread {
  readonly median: number;
  readonly min: number;
  readonly max: number;
}

export function spread(values: readonly number[]): Spread {
  return { median: median(values), min: Math.min(...values), max: Math.max(...values) };
}

export function median(values: readonly number[]): number {
  if (values.length === 0) throw new RangeError('the median of nothing');
  const sorted = [...values].sort((a, b) => a - b);
  const low = sorted[Math.ceil(sorted.length / 2) - 1] as number;
  const high = sorted[Math.floor(sorted.length / 2)] as number;
  return (low + high) / 2;
}

/**
 * How often `ours` takes what `theirs` takes. Both ran in the same rounds: each round gives one ratio, so that a
 * machine that drifts drifts out. Where one of them ran in fewer rounds, its last run stands for the others.
 */
export function ratios(ours: readonly number[], theirs: readonly number[]): number[] {
  const rounds = Math.max(ours.length, theirs.length);
  const at = (values: readonly number[], round: number) =>
    values[Math.min(round, values.length - 1)] ?? Number.NaN;
  return Array.from({ length: rounds }, (_, round) => at(ours, round) / at(theirs, round));
}
