/** Base and deltas beside a later full. Mirrors crates/addon/src/compare.rs. */
import * as binding from './binding.js';
import { call, type NativeOptions } from './call.js';

export type { LaterComparison } from './binding.js';

export interface CompareRequest {
  /** Databases; a trailer behind them does no harm. */
  readonly base: string;
  readonly later: string;
  /** .ebd files in order, from the base to the later full or beyond. */
  readonly deltas: readonly string[];
}

/** Record by record, as far as neither was compacted. Progress in records, over all passes. `object` is what errors name. */
export function compareWithLater(
  object: string,
  { base, deltas, later }: CompareRequest,
  options: NativeOptions = {},
): Promise<binding.LaterComparison> {
  const start = (control: binding.JobControl) => binding.compareWithLater(base, [...deltas], later, control);
  return call('compare', object, start, options);
}
