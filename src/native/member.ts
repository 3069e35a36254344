/** Member directories: the base of a replay, its result, and the proof. Mirrors crates/addon/src/member.rs. */
import * as binding from './binding.js';
import { call, callSync, type NativeOptions } from './call.js';

export type {
  ClusterIds,
  ClusterRequest,
  RecordCheckpoint,
  RecordProof,
  ResolvedCluster,
  SeatRequest,
} from './binding.js';

/** Members and ids as etcd will derive them; USAGE names what etcd would refuse. */
export function resolveCluster(cluster: binding.ClusterRequest): binding.ResolvedCluster {
  return callSync('restore', '--initial-cluster', () => binding.resolveCluster(cluster));
}

/** WAL and raft snapshot of a new member; `styleVersion` ("3.6") gives the bytes of that version's own tool. */
export function writeMemberDir(
  memberDir: string,
  cluster: binding.ClusterRequest,
  styleVersion: string | null,
  options: NativeOptions = {},
): Promise<binding.ClusterIds> {
  return call('restore', memberDir, () => binding.writeMemberDir(memberDir, cluster, styleVersion), options);
}

/** Members, raft position, version marks and alarms, in place. */
export function seatDb(path: string, seat: binding.SeatRequest, options: NativeOptions = {}): Promise<void> {
  return call('restore', path, () => binding.seatDb(path, seat), options);
}

/** Raises the revision in place and marks all below as compacted; returns the new one. */
export function bumpRevision(path: string, by: bigint, options: NativeOptions = {}): Promise<bigint> {
  return call('restore', path, () => binding.bumpRevision(path, by), options);
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
  readonly seat: binding.SeatRequest;
}

/** Every bucket but `key` becomes the base's again, with the deltas' leases, seated for the new cluster. */
export function assembleDb(request: AssembleRequest, options: NativeOptions = {}): Promise<void> {
  const { replayed, base, leases, seat } = request;
  const start = (control: binding.JobControl) =>
    binding.assembleDb(replayed, base, [...leases], seat, control);
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
