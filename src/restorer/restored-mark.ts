/**
 * `<data-dir>/etcdbr-restored.json`: backups of the restored etcd name it, so that a later restore follows their
 * timeline instead of taking it for a fork (architecture, decision 6). Read by `src/snapshotter/restored.ts`.
 */
import { randomUUID } from 'node:crypto';

export const RESTORED_FILE = 'etcdbr-restored.json';

export interface RestoredMark {
  /** Name of the full that the restore began with. */
  readonly base: string;
  readonly revision: bigint;
  readonly restoredAtMs: number;
}

export function formatMark({ base, revision, restoredAtMs }: RestoredMark): string {
  const mark = { base, revision: revision.toString(), restoredAtMs, id: randomUUID() };
  return `${JSON.stringify(mark, undefined, 2)}\n`;
}
