/** How the restored database is seated in its cluster: the same whatever applied the deltas. */
import type { RestoreConfig } from '../config/restore.js';
import { BackupError } from '../errors.js';
import { bumpRevision, inspectDb, type SeatRequest } from '../native/index.js';
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
