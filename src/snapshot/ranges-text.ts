import type { RevisionRange } from './plan.js';

const MAX_RANGES = 5;

/** "10-40, 55": the first few. */
export function rangesText(ranges: readonly RevisionRange[]): string {
  const shown = ranges
    .slice(0, MAX_RANGES)
    .map(({ from, to }) => (from === to ? `${from}` : `${from}-${to}`));
  return `${shown.join(', ')}${ranges.length > MAX_RANGES ? ' and more' : ''}`;
}
