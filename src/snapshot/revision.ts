/** Order of revisions; `Math.min` and `Math.max` take no bigint. */

export function lower(a: bigint, b: bigint): bigint {
  return compareRevisions(a, b) <= 0 ? a : b;
}

export function higher(a: bigint, b: bigint): bigint {
  return compareRevisions(a, b) >= 0 ? a : b;
}

/** For `sort`: ascending. */
export function compareRevisions(a: bigint, b: bigint): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}
