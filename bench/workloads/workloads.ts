/** All of them, in the order in which they run. */
import { check } from './check.js';
import { compact } from './compact.js';
import { full } from './full.js';
import { functions } from './functions.js';
import { get } from './get.js';
import { load } from './load.js';
import { restore } from './restore.js';
import { series } from './series.js';
import { verify } from './verify.js';
import type { Workload } from './workload.js';

const WORKLOADS: readonly Workload[] = [functions, check, verify, get, restore, series, compact, full, load];

/** Those that were asked for, or all; throws a RangeError for names that nobody has. */
export function chooseWorkloads(only: readonly string[]): readonly Workload[] {
  const names = WORKLOADS.map(({ name }) => name);
  const unknown = only.filter((name) => !names.includes(name));
  if (unknown.length > 0) throw new RangeError(`--only ${unknown.join(',')}: there are ${names.join(', ')}`);
  return only.length === 0 ? WORKLOADS : WORKLOADS.filter(({ name }) => only.includes(name));
}
