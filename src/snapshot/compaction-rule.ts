/** First patch of each older line of etcd with today's rule; 3.6 and later have it from the start. */
const FIRST_PATCH: ReadonlyMap<string, number> = new Map([
  ['3.4', 34],
  ['3.5', 16],
]);

/**
 * Whether an etcd of this version, when it compacts, keeps a deletion that was made at the very revision of the
 * compaction, so that a watch from there still sees it. Where the version is not known, or only its line: yes, for such
 * a record does an older etcd no harm.
 */
export function keepsTombstonesAt(version: string | undefined): boolean {
  const [, line = '', patch] = /^v?(\d+\.\d+)(?:\.(\d+))?/.exec(version ?? '') ?? [];
  const first = FIRST_PATCH.get(line);
  return first === undefined || patch === undefined || Number(patch) >= first;
}
