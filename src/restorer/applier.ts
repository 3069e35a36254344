/**
 * What makes the restored database of a base and deltas: one interface, whether a real etcd replays the deltas, or they
 * are appended natively. Where the result ends and how it is seated is told at the start, so that an applier may do all
 * of it in one go.
 */
import type { RecordCheckpoint, SeatRequest } from '../native/index.js';
import type { BoundedDelta } from '../pipeline/ahead.js';
import type { Base } from './base.js';

export interface ApplyRequest {
  /** May become the result, in place; after an error its content is still the base's. */
  readonly base: Base;
  /** In order, maybe none; each is removed once the next is asked for. */
  readonly deltas: AsyncIterable<BoundedDelta>;
  /** Last revision of the result: no delta counts beyond it. */
  readonly until: bigint;
  /** The new cluster, for the result. */
  readonly seat: SeatRequest;
  /** Empty directory for whatever the applier needs. */
  readonly workDir: string;
  /** Bytes of all deltas as stored: a hint for limits. */
  readonly deltaBytes: number;
  readonly signal?: AbortSignal | undefined;
  readonly onProgress?: ((revision: bigint) => void) | undefined;
}

export interface Applied {
  /** The finished database: records of base and deltas, the base's other buckets, the deltas' leases, seated. */
  readonly dbPath: string;
  /** Where base and deltas end; below `until` when they do not reach it. */
  readonly revision: bigint;
  /** What the records above the base must digest to, at the end of each delta. */
  readonly checkpoints: readonly RecordCheckpoint[];
  readonly events: number;
  /** Arrival of the last event, milliseconds since the epoch; undefined when nothing was applied. */
  readonly lastEventMs: number | undefined;
  /** Highest memory of a child process; undefined without one. */
  readonly childPeakBytes: number | undefined;
  /** When the database was written anew. */
  readonly rewritten?: Rewritten | undefined;
}

export interface Rewritten {
  readonly kind: 'pack' | 'compact';
  readonly why: string;
  readonly records: number;
  readonly bytes: number;
  /** That a compaction has left; the proof must find as many. */
  readonly liveKeys: number | undefined;
}

export interface Applier {
  apply(request: ApplyRequest): Promise<Applied>;
}
