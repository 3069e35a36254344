/**
 * Base and deltas of a store become one new full, without an etcd: fetched, merged and compacted, proven, packed, and
 * only then published. What it replaces is not removed; retention does that.
 *
 * The new full's name has the merged objects' last revision, and the second after the last of them was made: what a
 * running agent stores meanwhile is newer, and stays so.
 */
import { randomBytes } from 'node:crypto';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { CompactConfig } from '../config/compact.js';
import { BackupError } from '../errors.js';
import { hashKv, packFull } from '../native/index.js';
import { type BoundedDelta, DeltasAhead } from '../pipeline/ahead.js';
import { readCatalog } from '../pipeline/catalog.js';
import { FetchPool } from '../pipeline/pool.js';
import type { Applied } from '../restorer/applier.js';
import { type Choice, Chooser } from '../restorer/choose.js';
import { diskFault } from '../restorer/disk-fault.js';
import type { RestoreObserver } from '../restorer/observer.js';
import { type Proof, prove } from '../restorer/prove.js';
import type { Rewriting } from '../restorer/rewriting.js';
import { rewriteDb } from '../restorer/rewriting-applier.js';
import { checkSpace } from '../restorer/space.js';
import type { Manifest } from '../snapshot/manifest.js';
import type { Codec } from '../snapshot/name.js';
import type { StoredSnapshot } from '../snapshot/plan.js';
import { recordOfDb } from '../snapshotter/history.js';
import { OwnedDir, removeLeftBehind } from '../snapshotter/owned-dir.js';
import { type Publication, publish } from '../snapshotter/publish.js';
import type { StoreSettings } from '../store/registry.js';
import type { Store } from '../store/store.js';
import { needOf, reasonNotTo } from './worth.js';

export interface CompactRequest extends CompactConfig {
  readonly store: Store;
  /** The same store, for the workers that open it themselves. */
  readonly settings: StoreSettings;
  readonly tempDir: string;
  /** The command line so far, for the ones that are suggested. */
  readonly command: string;
  readonly observer: RestoreObserver;
  readonly signal?: AbortSignal | undefined;
}

export type CompactResult = CompactedStore | NothingToDo;

export interface NothingToDo {
  readonly done: false;
  readonly why: string;
  readonly revision: bigint;
}

export interface CompactedStore {
  readonly done: true;
  /** The new full. */
  readonly name: string;
  readonly revision: bigint;
  /** -1 when nothing was ever compacted. */
  readonly compactRevision: bigint;
  readonly base: string;
  readonly deltas: number;
  readonly events: number;
  readonly keys: number;
  readonly records: number;
  readonly plainBytes: number;
  readonly bytes: number;
  /** Of base and deltas as stored. */
  readonly mergedBytes: number;
  readonly elapsedMs: number;
}

const DIR_PREFIX = 'etcdbr-compact-';

export async function compactStore(request: CompactRequest): Promise<CompactResult> {
  const { tempDir, signal } = request;
  try {
    return await inTempDir(request);
  } catch (error) {
    if (signal?.aborted !== true)
      throw diskFault(error, tempDir, { op: 'compact', hint: 'give another --snapstore-temp-directory' });
    const what = `stopped (${String(signal.reason)}); nothing was stored`;
    throw new BackupError('CANCELLED', what, { op: 'compact', object: request.store.location, cause: error });
  }
}

async function inTempDir(request: CompactRequest): Promise<CompactResult> {
  const { tempDir, maxFetchers } = request;
  await mkdir(tempDir, { recursive: true, mode: 0o700 });
  await removeLeftBehind(tempDir, DIR_PREFIX);
  const name = `${DIR_PREFIX}${process.pid}-${randomBytes(4).toString('hex')}`;
  const dir = await OwnedDir.acquire(join(tempDir, name));
  const pool = new FetchPool({ maxFetchers });
  try {
    return await new Compactor(request, dir, pool).run();
  } finally {
    await pool.close();
    await dir.remove();
  }
}

class Compactor {
  readonly #startedMs = Date.now();
  readonly #request: CompactRequest;
  readonly #dir: OwnedDir;
  readonly #pool: FetchPool;

  constructor(request: CompactRequest, dir: OwnedDir, pool: FetchPool) {
    this.#request = request;
    this.#dir = dir;
    this.#pool = pool;
  }

  async run(): Promise<CompactResult> {
    const { store, settings, observer, signal, skipHashCheck, maxInflightBytes } = this.#request;
    const { objects, warnings } = await readCatalog(store, { signal });
    for (const warning of warnings) observer.warn(warning);
    const source = { pool: this.#pool, settings, workDir: this.#dir.path };
    const newest = { toRevision: undefined, toTimeMs: undefined };
    const wish = { ...this.#request, ...newest, allowOlder: false };
    const chooser = new Chooser(objects, source, wish, { skipHashCheck, observer, signal });
    const ahead = new DeltasAhead(source, { maxInflightBytes, signal });
    try {
      const choice = await chooser.choose((plan) => ahead.expect(plan.deltas));
      const why = reasonNotTo(choice, this.#request);
      if (why !== undefined) return { done: false, why, revision: choice.plan.revision };
      await checkSpace(
        this.#dir.path,
        needOf(choice.plan, this.#request),
        observer,
        'give another --snapstore-temp-directory',
      );
      return await this.#merge(choice, ahead, objects);
    } finally {
      await ahead.close();
    }
  }

  async #merge(
    choice: Choice,
    ahead: DeltasAhead,
    objects: readonly StoredSnapshot[],
  ): Promise<CompactedStore> {
    const { observer, signal } = this.#request;
    const { plan, base } = choice;
    const workDir = this.#dir.file('merge');
    await mkdir(workDir);
    const request = {
      ...{ base, workDir, signal, until: plan.revision },
      deltas: this.#last(ahead.take(plan.deltas)),
      onProgress: (revision: bigint) =>
        observer.progress(
          'read deltas',
          Number(revision - plan.baseRevision),
          Number(plan.revision - plan.baseRevision),
          'events',
        ),
    };
    const applied = await rewriteDb(this.#rewriting(), observer, request);
    const proof = await prove({
      ...{ dbPath: applied.dbPath, checkpoints: applied.checkpoints, liveKeys: applied.rewritten?.liveKeys },
      ...{ baseRevision: base.info.revision, revision: plan.revision, objects, observer, signal },
    });
    signal?.throwIfAborted();
    return this.#publish(choice, applied, proof);
  }

  /** The threads that fetch have nothing to do from then on, and take memory. */
  async *#last(deltas: AsyncIterable<BoundedDelta>): AsyncGenerator<BoundedDelta> {
    yield* deltas;
    await this.#pool.close();
  }

  #rewriting(): Rewriting {
    if (this.#request.keepHistory) return { kind: 'pack', why: '--keep-history' };
    // Whoever continues this chain looks for its last record, which may be a deletion.
    return { kind: 'compact', why: 'compact', keepsTombstonesAt: true };
  }

  async #publish(choice: Choice, applied: Applied, proof: Proof): Promise<CompactedStore> {
    const { store, observer, signal } = this.#request;
    const { plan, base } = choice;
    const target = this.#dir.file('full.packed');
    const codec = this.#codec(base.object);
    const packing = (done: number) => observer.progress('pack', done, proof.info.dataBytes, 'bytes');
    const packed = await packFull({ source: applied.dbPath, target, codec }, { signal, onProgress: packing });
    const last = lastOf(choice);
    const publication: Publication = {
      name: {
        ...{ kind: 'full', start: 0n, last: plan.revision, codec, final: base.object.name.final },
        createdSecs: last.name.createdSecs + 1,
      },
      path: target,
      ...{ bytes: packed.packedBytes, sha256: packed.packedSha256 },
      manifest: {
        plain: { bytes: packed.plainBytes, sha256: packed.dbSha256 },
        ...(await describe(choice, applied, proof, signal)),
      },
    };
    const storing = (done: number) => observer.progress('store the full', done, packed.packedBytes, 'bytes');
    const name = await publish(store, publication, { signal, onProgress: storing });
    return {
      ...{ done: true, name, revision: plan.revision, compactRevision: proof.info.compactRevision },
      ...{ base: base.object.name.text, deltas: plan.deltas.length, events: applied.events },
      ...{ keys: proof.liveKeys, records: applied.rewritten?.records ?? 0 },
      ...{ plainBytes: packed.plainBytes, bytes: packed.packedBytes, mergedBytes: plan.bytes },
      elapsedMs: Date.now() - this.#startedMs,
    };
  }

  /** As the base is, unless told otherwise: whoever could restore the set still can. */
  #codec({ name }: StoredSnapshot): Exclude<Codec, 'ebd'> {
    const { chosen, fullCodec, gardener } = this.#request.compression;
    if (chosen || name.codec === 'ebd') return fullCodec;
    return gardener && name.codec === 'zstd' ? fullCodec : name.codec;
  }
}

function lastOf({ plan, base }: Choice): StoredSnapshot {
  return plan.deltas.at(-1)?.object ?? base.object;
}

/** What the merged objects say, and what is now true. */
async function describe(
  choice: Choice,
  applied: Applied,
  { info }: Proof,
  signal: AbortSignal | undefined,
): Promise<Omit<Publication['manifest'], 'plain'>> {
  const { revision, compactRevision, lastRecord } = info;
  const last = lastOf(choice);
  const { serverVersion, clusterId, memberId, restoredFrom, openedAtMs, endedAtMs } = {
    ...choice.base.object.manifest,
  };
  const answer = await hashKv(applied.dbPath, { revision, compactRevision }, { signal });
  const hash: Manifest['hashKv'] = answer.comparable
    ? { hash: answer.hash, revision, compactRevision: answer.compactRevision }
    : undefined;
  return {
    ...{ revision, compactRevision, serverVersion, clusterId, memberId },
    hashKv: hash,
    // When the state was as it is here, not when it was merged.
    openedAtMs: applied.lastEventMs ?? openedAtMs,
    endedAtMs: applied.lastEventMs ?? endedAtMs,
    lastRecord: lastRecord === null ? undefined : recordOfDb(lastRecord),
    restoredFrom: last.manifest?.restoredFrom ?? restoredFrom,
    previous: { name: last.name.text, sha256: last.manifest?.sha256 },
  };
}
