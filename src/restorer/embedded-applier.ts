/**
 * Replays deltas through a real etcd: a child process on a prepared copy of the base. Of what it leaves behind only the
 * `key` bucket is used, put beside the base's other buckets.
 */
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { onAbort } from '../base/abort.js';
import { BackupError, isBackupError } from '../errors.js';
import { type EmbeddedEtcd, startEmbedded } from '../etcd/embedded.js';
import type { EtcdBinary } from '../etcd/etcd-binary.js';
import {
  assembleDb,
  prepareReplayBase,
  type RecordCheckpoint,
  Replay,
  type ReplayBatch,
  writeMemberDir,
} from '../native/index.js';
import type { BoundedDelta } from '../pipeline/ahead.js';
import type { Applied, Applier, ApplyRequest } from './applier.js';
import { GuardedPipeline } from './guarded-pipeline.js';

/** As `src/etcd/embedded.ts` starts it. */
const REPLAY_CLUSTER = { name: 'default', initialCluster: 'default=unix://p.sock:2', token: 'etcd-cluster' };
/** Nothing may be refused for its size: as large as gRPC can carry. */
const MAX_REQUEST_BYTES = 1536 * 1024 * 1024;
const MAX_TXN_OPS = 100_000_000;
/** The quota is as many times the data: history stays, and packed deltas unpack. */
const QUOTA_PER_DELTA_BYTE = 64;
const QUOTA_FLOOR_BYTES = 8 * 1024 ** 3;
const READY_FLOOR_MS = 60_000;
/** etcd reads its whole db when it starts; this is a slow disk. */
const READY_BYTES_PER_MS = 10_000;
/** The lease only has to outlive the replay. */
const REPLAY_TTL_SECONDS = 10n * 365n * 24n * 3600n;
const GRANTS_AT_A_TIME = 32;
/** With more, etcd's own goroutines overtake each other, and every overtaken transaction is sent twice. */
const CHILD_PROCS = 1;

export class EmbeddedApplier implements Applier {
  readonly #binary: EtcdBinary;

  constructor(binary: EtcdBinary) {
    this.#binary = binary;
  }

  async apply(request: ApplyRequest): Promise<Applied> {
    const { base, seat, workDir, signal } = request;
    const dataDir = join(workDir, 'replay');
    const dbPath = join(dataDir, 'member', 'snap', 'db');
    await this.#prepare(request, dataDir, dbPath);
    const etcd = await startEmbedded({
      binary: this.#binary,
      dataDir,
      workParent: workDir,
      quotaBytes: QUOTA_FLOOR_BYTES + 2 * base.bytes + QUOTA_PER_DELTA_BYTE * request.deltaBytes,
      maxRequestBytes: MAX_REQUEST_BYTES,
      maxTxnOps: MAX_TXN_OPS,
      readyTimeoutMs: READY_FLOOR_MS + base.bytes / READY_BYTES_PER_MS,
      maxProcs: CHILD_PROCS,
      signal,
    });
    // Ends every call that is in flight: cheaper than to tell each of them.
    const unhook = onAbort(signal, () => void etcd.kill());
    try {
      const { leases, ...replayed } = await new EmbeddedReplay(etcd, request).run();
      await etcd.stop();
      await assembleDb({ replayed: dbPath, base: base.path, leases, seat }, { signal });
      return { dbPath, ...replayed, childPeakBytes: await etcd.peakRssBytes() };
    } finally {
      unhook();
      await etcd.kill();
    }
  }

  async #prepare({ base, signal }: ApplyRequest, dataDir: string, dbPath: string): Promise<void> {
    await mkdir(join(dataDir, 'member', 'snap'), { recursive: true, mode: 0o700 });
    const copy = {
      source: base.path,
      target: dbPath,
      cluster: REPLAY_CLUSTER,
      targetVersion: this.#binary.version,
    };
    await prepareReplayBase(copy, { signal });
    await writeMemberDir(join(dataDir, 'member'), REPLAY_CLUSTER, this.#binary.version, { signal });
  }
}

class EmbeddedReplay {
  readonly #etcd: EmbeddedEtcd;
  readonly #request: ApplyRequest;
  readonly #replay: Replay;
  readonly #pipeline: GuardedPipeline;
  readonly #checkpoints: RecordCheckpoint[] = [];
  #events = 0;

  constructor(etcd: EmbeddedEtcd, request: ApplyRequest) {
    this.#etcd = etcd;
    this.#request = request;
    this.#replay = new Replay(request.base.info.revision);
    this.#pipeline = new GuardedPipeline((txn) => etcd.txn(txn));
  }

  async run() {
    for await (const delta of this.#request.deltas) await this.#applyDelta(delta);
    return {
      revision: this.#replay.position(),
      checkpoints: this.#checkpoints,
      leases: this.#replay.grants(),
      events: this.#events,
      lastEventMs: this.#replay.lastEventMs() ?? undefined,
    };
  }

  /** The next batch is read while the one before is being applied. */
  async #applyDelta(delta: BoundedDelta): Promise<void> {
    const { signal } = this.#request;
    this.#replay.open(delta.object, delta.path, delta.through);
    let next = this.#replay.next({ signal });
    for (let batch = await next; batch !== null; batch = await next) {
      const reading = this.#replay.next({ signal });
      next = reading;
      try {
        await this.#applyBatch(batch);
      } catch (error) {
        await reading.catch(() => undefined);
        throw inObject(error, delta);
      }
    }
    this.#checkpoints.push(this.#replay.checkpoint());
  }

  async #applyBatch(batch: ReplayBatch): Promise<void> {
    for (let at = 0; at < batch.leases.length; at += GRANTS_AT_A_TIME) {
      const some = batch.leases.slice(at, at + GRANTS_AT_A_TIME);
      await Promise.all(some.map((id) => this.#grant(id)));
    }
    await this.#pipeline.apply(batch);
    this.#events += batch.events;
    this.#request.onProgress?.(batch.lastRevision);
  }

  /** A lease of the base is there already. */
  async #grant(id: bigint): Promise<void> {
    try {
      await this.#etcd.grantLease(id, REPLAY_TTL_SECONDS);
    } catch (error) {
      if (!isBackupError(error, 'EXISTS')) throw error;
    }
  }
}

function inObject(error: unknown, { object }: BoundedDelta): unknown {
  if (!(error instanceof BackupError) || error.object !== undefined) return error;
  const hint = error.hint === undefined ? {} : { hint: error.hint };
  return new BackupError(error.code, error.message, { object, cause: error, ...hint });
}
