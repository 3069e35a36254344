/** How the restored database is seated in its cluster: the same whatever applied the deltas. */
import type { RestoreConfig } from '../config/restore.js';
import { BackupError } from '../errors.js';
import { bumpRevision, inspectDb, type SeatRequest } from '../native/index.js';
import { isMeant } from '../snapshot/name.js';
import type { StoredSnapshot } from '../snapshot/plan.js';
import { higher } from '../snapshot/revision.js';
import type { Cluster } from './cluster.js';
import { checkWhole, type ProofRequest } from './prove.js';

export interface Seat extends SeatRequest {
  readonly cluster: Cluster;
}

export function seatOf(
  { etcdVersion, clearAlarms }: Pick<RestoreConfig, 'etcdVersion' | 'clearAlarms'>,
  cluster: Cluster,
): Seat {
  return { cluster, targetVersion: etcdVersion ?? null, clearAlarms };
}

export interface Seen {
  readonly objects: readonly Pick<StoredSnapshot, 'name' | 'manifest'>[];
  /** Left out by the user: they may be another etcd's. */
  readonly exclude: readonly string[];
  /** Of the directory that is replaced. */
  readonly oldRevision: bigint | undefined;
}

/** Clients have seen what is in any backup: raised to less, they would go on with what was lost (hazard 38). */
export function checkRaise(revision: bigint, by: number, { objects, exclude, oldRevision }: Seen): void {
  const counted = objects.filter(({ name }) => !exclude.some((typed) => isMeant(typed, name.text)));
  const seen = counted
    .flatMap(({ name, manifest }) => [name.last, manifest?.revision ?? 0n])
    .reduce(higher, oldRevision ?? 0n);
  if (revision + BigInt(by) > seen) return;
  throw new BackupError(
    'USAGE',
    `revision ${revision} would become ${revision + BigInt(by)}, but revision ${seen} is in a backup or in the old directory, so clients have seen it`,
    {
      op: 'restore',
      object: `--bump-revision ${by}`,
      hint: `give at least ${seen - revision + 1n}, and more for what was written after it`,
    },
  );
}

/**
 * After the proof, which is about what base and deltas say; checked whole again, since nobody looks at it before it is
 * started. Returns the raised revision.
 */
export async function raiseRevision(request: ProofRequest, by: number, liveKeys: number): Promise<bigint> {
  const { dbPath, revision, signal } = request;
  const raised = await bumpRevision(dbPath, BigInt(by), { signal });
  const info = await inspectDb(dbPath, { signal });
  const found = await checkWhole(request);
  if (raised === revision + BigInt(by) && info.revision === raised && found === liveKeys) return raised;
  throw new BackupError(
    'MISMATCH',
    `revision ${info.revision} with ${found} keys after raising revision ${revision} with ${liveKeys} keys by ${by}`,
    { op: 'restore', object: 'restored database' },
  );
}
