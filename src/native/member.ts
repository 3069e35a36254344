/** Member directories: the base of a replay, its result, and the proof. Mirrors crates/addon/src/member.rs. */
import * as binding from './binding.js';
import { call, type NativeOptions } from './call.js';

export type { ClusterIds, ClusterRequest, RecordCheckpoint, RecordProof } from './binding.js';

/** WAL and raft snapshot of a new member; `styleVersion` ("3.6") gives the bytes of that version's own tool. */
export function writeMemberDir(
  memberDir: string,
  cluster: binding.ClusterRequest,
  styleVersion: string | null,
  options: NativeOptions = {},
): Promise<binding.ClusterIds> {
  return call('restore', memberDir, () => binding.writeMemberDir(memberDir, cluster, styleVersion), options);
}

/** Members, raft position, and version marks that `targetVersion` could not read, in place. */
export function seatDb(
  path: string,
  cluster: binding.ClusterRequest,
  targetVersion: string | null,
  options: NativeOptions = {},
): Promise<void> {
  return call('restore', path, () => binding.seatDb(path, cluster, targetVersion), options);
}

export interface ReplayBaseRequest {
  readonly source: string;
  /** Must not exist. */
  readonly target: string;
  /** The replaying etcd: a cluster of one. */
  readonly cluster: binding.ClusterRequest;
  readonly targetVersion: string | null;
}

/** A copy fit for a replay: seated, leases that last, auth off, no alarms. Returns its bytes; progress in bytes. */
export function prepareReplayBase(request: ReplayBaseRequest, options: NativeOptions = {}): Promise<number> {
  const { source, target, cluster, targetVersion } = request;
  const start = (control: binding.JobControl) =>
    binding.prepareReplayBase(source, target, cluster, targetVersion, control);
  return call('restore', source, start, options);
}

export interface AssembleRequest {
  /** The database of the finished replay; becomes the restored one, in place. */
  readonly replayed: string;
  readonly base: string;
  /** Leases that the deltas granted. */
  readonly leases: readonly binding.LeaseGrant[];
  readonly cluster: binding.ClusterRequest;
  readonly targetVersion: string | null;
}

/** Every bucket but `key` becomes the base's again, with the deltas' leases, seated for the new cluster. */
export function assembleDb(request: AssembleRequest, options: NativeOptions = {}): Promise<void> {
  const { replayed, base, leases, cluster, targetVersion } = request;
  const start = (control: binding.JobControl) =>
    binding.assembleDb(replayed, base, [...leases], cluster, targetVersion, control);
  return call('restore', replayed, start, options);
}

/** Compares every record above `after` with what the deltas say; MISMATCH names the first stretch that differs. */
export function proveRecords(
  path: string,
  {
    after,
    checkpoints,
  }: { readonly after: bigint; readonly checkpoints: readonly binding.RecordCheckpoint[] },
  options: NativeOptions = {},
): Promise<binding.RecordProof> {
  return call(
    'prove',
    path,
    (control) => binding.proveRecords(path, after, [...checkpoints], control),
    options,
  );
}
