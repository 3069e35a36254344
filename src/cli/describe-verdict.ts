/** What a verification found, in lines for people. */
import { formatBytes, formatRate } from '../base/bytes.js';
import type { RevisionRange } from '../snapshot/plan.js';
import type { DeepVerdict, ObjectVerdict, SetVerdict } from '../validator/verdict.js';
import { describePlan } from './describe-plan.js';

/** Of revisions that can be restored: a store that keeps fulls alone has one for each. */
const MAX_RANGES = 8;

type Told = Pick<
  ObjectVerdict,
  'object' | 'revision' | 'records' | 'problems' | 'remembered' | 'checkedAtMs'
>;

export function objectLines({ object, problems, ...verdict }: Told): string[] {
  if (problems.length > 0) return problems.map((problem) => `DAMAGED  ${object}: ${problem}`);
  const when = verdict.remembered ? `  (read ${time(verdict.checkedAtMs)}, unchanged since)` : '';
  return [`ok       ${object}  revision ${verdict.revision}, ${verdict.records} records${when}`];
}

export function deepLine({ base, later, deltas, outcome, detail, remembered }: DeepVerdict): string {
  const sources = deltas === 0 ? base : `${base} and ${deltas} deltas`;
  if (outcome === 'differs') return `DIFFERS  ${later}: ${sources} do not make it: ${detail}`;
  if (outcome === 'not comparable') return `note: ${later} is not compared with ${base}: ${detail}`;
  return `equal    ${later}: ${sources} make it${remembered ? '  (compared before)' : `, ${detail}`}`;
}

export function chainLines({ chain, gone, manifests }: SetVerdict): string[] {
  const lines = gone.map((name) => `gone     ${name}  was deleted meanwhile`);
  lines.push(...manifests.map(({ object, text }) => `WRONG    ${object}: ${text}`));
  if (chain === undefined) return lines;
  const { plan, restorable, problems, notes } = chain;
  lines.push(...problems.map(({ object, text }) => `WRONG    ${object}: ${text}`));
  lines.push(...describePlan(plan));
  if (restorable.length > 0) lines.push(rangesLine(restorable));
  return [...lines, ...notes.map((note) => `note: ${note}`)];
}

function rangesLine(restorable: readonly RevisionRange[]): string {
  const newest = restorable.slice(-MAX_RANGES);
  const ranges = newest.map(({ from, to }) => (from === to ? `${from}` : `${from}-${to}`));
  const older = restorable.length - newest.length;
  return `every revision of ${ranges.join(', ')} can be restored${older > 0 ? `, and of ${older} older ranges` : ''}`;
}

export function totalsLine({ objects, totals }: SetVerdict): string {
  const { readObjects, readBytes, elapsedMs, bytes } = totals;
  const damaged = objects.filter(({ problems }) => problems.length > 0).length;
  const known = objects.length - readObjects;
  const seconds = elapsedMs / 1000;
  const parts = [
    `verified ${objects.length} objects, ${formatBytes(bytes)}: ${damaged === 0 ? 'all sound' : `${damaged} DAMAGED`}`,
    `read ${readObjects} (${formatBytes(readBytes)}) in ${seconds.toFixed(1)} s` +
      (readObjects > 0
        ? `, ${formatRate(readBytes, elapsedMs)}, ${(readObjects / Math.max(seconds, 0.001)).toFixed(1)} objects/s`
        : ''),
  ];
  if (known > 0) parts.push(`${known} known from earlier runs`);
  return parts.join('; ');
}

function time(ms: number): string {
  return new Date(ms).toISOString().replace(/\.\d+Z$/, 'Z');
}
