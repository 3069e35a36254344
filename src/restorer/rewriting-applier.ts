/**
 * Writes the restored database anew, packed or compacted (crates/engine/src/{pack,compact}.rs): from base and deltas
 * directly, or, when an etcd has replayed the deltas, from what that one left.
 *
 * A compaction goes in stages, so that deltas many times larger than what is alive need no more room than base, one
 * stage and its result (hazard 18): a compaction at a later revision keeps nothing that one at an earlier has removed.
 */
import { rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { BackupError, isBackupError } from '../errors.js';
import {
  type CompactedDb,
  compactDb,
  digestRecords,
  type PackedDb,
  packDb,
  proveRecords,
  type RecordCheckpoint,
  seatDb,
} from '../native/index.js';
import type { BoundedDelta } from '../pipeline/ahead.js';
import type { Applied, Applier, ApplyRequest } from './applier.js';
import type { RestoreObserver } from './observer.js';
import type { Rewriting } from './rewriting.js';

/** Bytes of deltas of one stage; as many as the base has when that is more, so that the rewriting stays linear. */
const STAGE_BYTES = 256 * 1024 * 1024;

export class RewritingApplier implements Applier {
  readonly #rewriting: Rewriting;
  readonly #observer: RestoreObserver;
  /** Applies the deltas before; undefined: they are read here. */
  readonly #inner: Applier | undefined;
  readonly #stageBytes: number;

  constructor(
    rewriting: Rewriting,
    observer: RestoreObserver,
    {
      inner,
      stageBytes = STAGE_BYTES,
    }: { readonly inner?: Applier | undefined; readonly stageBytes?: number } = {},
  ) {
    this.#rewriting = rewriting;
    this.#observer = observer;
    this.#inner = inner;
    this.#stageBytes = stageBytes;
  }

  async apply(request: ApplyRequest): Promise<Applied> {
    const { kind, why } = this.#rewriting;
    this.#observer.info(`the database is ${kind === 'pack' ? 'packed' : 'compacted'}: ${why}`);
    const inner = await this.#inner?.apply(request);
    const options = { inner, stageBytes: this.#stageBytes };
    const applied = await rewriteDb(this.#rewriting, this.#observer, request, options);
    if (inner === undefined) await seatDb(applied.dbPath, request.seat, { signal: request.signal });
    return applied;
  }
}

export type RewriteRequest = Omit<ApplyRequest, 'seat' | 'deltaBytes'>;

/** The same without a seat: members, raft position and all else are the base's. */
export function rewriteDb(
  rewriting: Rewriting,
  observer: RestoreObserver,
  request: RewriteRequest,
  {
    inner,
    stageBytes = STAGE_BYTES,
  }: { readonly inner?: Applied | undefined; readonly stageBytes?: number } = {},
): Promise<Applied> {
  const run = new Run(rewriting, observer, request, inner);
  const deltas = inner === undefined ? request.deltas : [];
  return run.rewrite(deltas, Math.max(stageBytes, request.base.bytes));
}

class Run {
  readonly #rewriting: Rewriting;
  readonly #observer: RestoreObserver;
  readonly #request: RewriteRequest;
  readonly #inner: Applied | undefined;
  #basePath: string;
  #compactedAt: bigint;
  #kept: BoundedDelta[] = [];
  #keptBytes = 0;
  #stages = 0;
  #last: { readonly packed: PackedDb; readonly liveKeys: number | undefined } | undefined;
  #events = 0;
  #lastEventMs: number | undefined;

  constructor(
    rewriting: Rewriting,
    observer: RestoreObserver,
    request: RewriteRequest,
    inner: Applied | undefined,
  ) {
    this.#rewriting = rewriting;
    this.#observer = observer;
    this.#request = request;
    this.#inner = inner;
    this.#basePath = inner?.dbPath ?? request.base.path;
    this.#compactedAt = request.base.info.compactRevision;
  }

  async rewrite(
    deltas: AsyncIterable<BoundedDelta> | Iterable<BoundedDelta>,
    stageBytes: number,
  ): Promise<Applied> {
    const { until, onProgress } = this.#request;
    await this.#proveInner();
    for await (const delta of deltas) {
      await this.#keep(delta);
      onProgress?.(delta.through);
      const isFull = this.#rewriting.kind === 'compact' && this.#keptBytes >= stageBytes;
      // Behind a delta that goes on in a history which was left, the next one needs a base of its own.
      const isCut = delta.through < delta.lastRevision;
      if ((isFull || isCut) && delta.through < until) await this.#write(delta.through);
    }
    if (this.#rewriting.kind === 'pack' || this.#compactedAt < until) await this.#write(until);
    return this.#applied();
  }

  /** A compaction takes away what could be compared with the deltas later. */
  async #proveInner(): Promise<void> {
    const { checkpoints } = this.#inner ?? { checkpoints: [] };
    if (this.#rewriting.kind === 'pack' || checkpoints.length === 0) return;
    const after = this.#request.base.info.revision;
    await proveRecords(this.#basePath, { after, checkpoints }, this.#options());
  }

  /** Out of the way of the pipeline, which removes it once the next is asked for. */
  async #keep(delta: BoundedDelta): Promise<void> {
    const path = join(this.#request.workDir, `${this.#kept.length}-${delta.object}.kept`);
    await rename(delta.path, path);
    this.#kept.push({ ...delta, path });
    this.#keptBytes += (await stat(path)).size;
  }

  /** Base and what was kept become the next base, read again and compared. */
  async #write(until: bigint): Promise<void> {
    this.#stages += 1;
    const target = join(this.#request.workDir, `rewritten-${this.#stages}.db`);
    const request = { base: this.#basePath, deltas: this.#kept.map(({ path }) => path), until, target };
    try {
      this.#last = await this.#native(request, until);
    } catch (error) {
      throw this.#inObject(error);
    }
    await proveWritten(target, this.#last.packed, this.#options());
    this.#events += this.#last.packed.events;
    this.#lastEventMs = this.#last.packed.lastEventMs ?? this.#lastEventMs;
    for (const { path } of this.#kept) await rm(path);
    // The base itself stays: after a failure the next try begins with it.
    if (this.#stages > 1 || this.#inner !== undefined) await rm(this.#basePath);
    this.#kept = [];
    this.#keptBytes = 0;
    this.#basePath = target;
    if (this.#rewriting.kind === 'compact') this.#compactedAt = until;
  }

  async #native(
    request: Parameters<typeof packDb>[0],
    at: bigint,
  ): Promise<{ packed: PackedDb; liveKeys: number | undefined }> {
    const rewriting = this.#rewriting;
    if (rewriting.kind === 'pack')
      return { packed: await packDb(request, this.#options('pack')), liveKeys: undefined };
    const { packed, liveKeys }: CompactedDb = await compactDb(
      request,
      { at, keepsTombstonesAt: rewriting.keepsTombstonesAt },
      this.#options('compact'),
    );
    return { packed, liveKeys };
  }

  #options(stage?: string) {
    const { signal } = this.#request;
    if (stage === undefined) return { signal };
    return {
      signal,
      onProgress: (records: number) => this.#observer.progress(stage, records, undefined, 'events'),
    };
  }

  /** So that the planner can go on without a delta that turned out to be damaged. */
  #inObject(error: unknown): unknown {
    if (!isBackupError(error)) return error;
    const guilty = this.#kept.find(({ path }) => path === error.object);
    const object = guilty?.object ?? this.#request.base.object.name.text;
    return new BackupError(error.code, error.message, { op: 'restore', object, cause: error });
  }

  #applied(): Applied {
    const inner = this.#inner;
    const { packed, liveKeys } = this.#last ?? {};
    return {
      dbPath: this.#basePath,
      revision: packed?.revision ?? inner?.revision ?? this.#request.base.info.revision,
      checkpoints: this.#checkpoints(packed),
      events: inner?.events ?? this.#events,
      lastEventMs: inner?.lastEventMs ?? this.#lastEventMs,
      childPeakBytes: inner?.childPeakBytes,
      rewritten: packed && {
        kind: this.#rewriting.kind,
        why: this.#rewriting.why,
        records: packed.records,
        bytes: packed.bytes,
        liveKeys,
      },
    };
  }

  /** Of a later stage they are about its own base only; each was compared with what was written. */
  #checkpoints(packed: PackedDb | undefined): readonly RecordCheckpoint[] {
    if (packed !== undefined && (this.#rewriting.kind === 'compact' || this.#stages > 1)) return [];
    if (this.#inner !== undefined) return this.#inner.checkpoints;
    return packed?.aboveBase == null ? [] : [packed.aboveBase];
  }
}

/** What was written is on disk, record for record. */
export async function proveWritten(
  path: string,
  { records, recordsSha256 }: PackedDb,
  options: { readonly signal?: AbortSignal | undefined },
): Promise<void> {
  const found = await digestRecords(path, options);
  if (found.records === records && found.sha256 === recordsSha256) return;
  throw new BackupError('MISMATCH', `${found.records} records were read back, not the ${records} written`, {
    op: 'prove',
    object: path,
    hint: 'nothing was changed; check the disk',
  });
}
