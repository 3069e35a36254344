/** What turns a base and deltas into a database. One interface, so that a native applier can stand beside the embedded one. */
import type { LeaseGrant, RecordCheckpoint } from '../native/index.js';
import type { PreparedDelta } from '../pipeline/task.js';
import type { Base } from './base.js';

export interface ApplyRequest {
  readonly base: Base;
  /** In order; each is removed once the next is asked for. */
  readonly deltas: AsyncIterable<PreparedDelta>;
  /** Empty directory for whatever the applier needs. */
  readonly workDir: string;
  /** Bytes of all deltas as stored: a hint for limits. */
  readonly deltaBytes: number;
  readonly signal?: AbortSignal | undefined;
  readonly onProgress?: ((revision: bigint, events: number) => void) | undefined;
}

export interface Applied {
  /** The database that holds base and deltas; only its `key` bucket counts. */
  readonly dbPath: string;
  readonly revision: bigint;
  /** What the records above the base must digest to, at the end of each delta. */
  readonly checkpoints: readonly RecordCheckpoint[];
  readonly leases: readonly LeaseGrant[];
  readonly events: number;
  /** Arrival of the last event, milliseconds since the epoch; undefined when nothing was applied. */
  readonly lastEventMs: number | undefined;
  /** Highest memory of a child process; undefined without one. */
  readonly childPeakBytes: number | undefined;
}

export interface Applier {
  apply(request: ApplyRequest): Promise<Applied>;
}
