/** Restores the newest state that a store holds into a data directory, or says why that cannot be done. */
import { randomUUID } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { together } from '../base/together.js';
import type { RestoreConfig } from '../config/restore.js';
import { BackupError } from '../errors.js';
import { type ClusterIds, grantUnknownLeases, syncTree, type UnknownLeases } from '../native/index.js';
import { DeltasAhead } from '../pipeline/ahead.js';
import { readCatalog } from '../pipeline/catalog.js';
import { FetchPool } from '../pipeline/pool.js';
import type { Moment } from '../snapshot/at-time.js';
import { planRestore } from '../snapshot/chain.js';
import type { Plan, StoredSnapshot } from '../snapshot/plan.js';
import { formatRestoredMark } from '../snapshot/restored-mark.js';
import type { StoreSettings } from '../store/registry.js';
import type { Store } from '../store/store.js';
import type { Applied } from './applier.js';
import { Appliers } from './appliers.js';
import type { Base } from './base.js';
import { buildDirectory } from './build.js';
import { type Choice, Chooser } from './choose.js';
import { type Cluster, checkCluster } from './cluster.js';
import { isDamage } from './damage.js';
import { diskFault } from './disk-fault.js';
import type { RestoreObserver } from './observer.js';
import { checkStale, type OldMember, takeOldMember } from './old-member.js';
import { PartDir, settleLeftover } from './part-dir.js';
import { planByName } from './plan-by-name.js';
import { type Proof, type ProofRequest, prove } from './prove.js';
import { checkQuota } from './quota.js';
import { checkRaise, raiseRevision, type Seat, seatOf } from './seat.js';
import { checkSpace, spaceNeed } from './space.js';
import { type SwapOptions, swapIn } from './swap.js';
import { locateTarget, type Target } from './target.js';

export interface RestoreRequest extends RestoreConfig {
  readonly store: Store;
  /** The same store, for the workers that open it themselves. */
  readonly settings: StoreSettings;
  /** The command line so far, for the ones that are suggested. */
  readonly command: string;
  readonly observer: RestoreObserver;
  readonly signal?: AbortSignal | undefined;
  /** Test doubles. */
  readonly workerUrl?: URL | undefined;
  readonly exchange?: SwapOptions['exchange'];
}

export interface RestoreResult {
  readonly target: Target;
  readonly plan: Plan;
  readonly base: Base;
  readonly applied: Applied;
  readonly proof: Proof;
  readonly cluster: Cluster;
  readonly ids: ClusterIds;
  /** By `--bump-revision`; undefined without. */
  readonly raisedRevision: bigint | undefined;
  readonly unknownLeases: UnknownLeases;
  /** Where the old directory is now; undefined when there was none. */
  readonly before: string | undefined;
  readonly old: Pick<OldMember, 'revision'> | undefined;
  readonly lostUpTo: bigint | undefined;
  readonly moment: Moment | undefined;
  readonly elapsedMs: number;
}

/** Each try goes on without one object that was found damaged while it was applied. */
const MAX_TRIES = 16;

export async function restore(request: RestoreRequest): Promise<RestoreResult> {
  const { dataDir, signal } = request;
  try {
    return await new Restore(request, checkCluster(request), await locateTarget(dataDir)).run();
  } catch (error) {
    if (signal?.aborted !== true) throw diskFault(error, dataDir);
    throw new BackupError('CANCELLED', `stopped (${String(signal.reason)}); nothing of it was changed`, {
      op: 'restore',
      object: dataDir,
      cause: error,
    });
  }
}

class Restore {
  readonly #startedMs = Date.now();
  readonly #request: RestoreRequest;
  readonly #cluster: Cluster;
  readonly #seat: Seat;
  readonly #target: Target;
  readonly #appliers: Appliers;

  constructor(request: RestoreRequest, cluster: Cluster, target: Target) {
    this.#request = request;
    this.#appliers = new Appliers(request);
    this.#cluster = cluster;
    this.#seat = seatOf(request, cluster);
    this.#target = target;
  }

  async run(): Promise<RestoreResult> {
    const { observer, store, signal, maxFetchers, workerUrl } = this.#request;
    observer.info(`restoring into ${this.#target.dataDir} from ${store.location}`);
    const settled = await settleLeftover(this.#target);
    if (settled !== undefined) observer.info(settled);
    const old = await takeOldMember(this.#target, observer, { signal });
    try {
      const { objects, warnings } = await readCatalog(store, { signal });
      for (const warning of warnings) observer.warn(warning);
      const part = await PartDir.open(this.#target);
      const pool = new FetchPool({ maxFetchers, workerUrl });
      try {
        return await this.#into(part, pool, objects, old);
      } finally {
        await pool.close();
        await part.remove();
      }
    } finally {
      old?.lock.release();
    }
  }

  async #into(
    part: PartDir,
    pool: FetchPool,
    objects: readonly StoredSnapshot[],
    old: OldMember | undefined,
  ): Promise<RestoreResult> {
    const { settings, observer, signal, skipHashCheck, maxInflightBytes } = this.#request;
    const source = { pool, settings, workDir: part.work };
    await this.#prepareApplier(objects);
    const options = { skipHashCheck, historyLater: true, observer, signal };
    const chooser = new Chooser(objects, source, this.#request, options);
    const ahead = new DeltasAhead(source, { maxInflightBytes, signal });
    const { choice, applied } = await this.#applyChosen(chooser, part, ahead, old).finally(() =>
      ahead.close(),
    );
    const { plan, base, lostUpTo, moment } = choice;
    const { dbPath } = applied;
    const granted = await this.#grantLeases(dbPath);
    const toProve = this.#toProve(choice, applied, objects);
    const proof = await prove(toProve);
    checkQuota(proof.info.dataBytes, this.#request, observer);
    const { bumpRevision, exclude } = this.#request;
    if (bumpRevision !== undefined)
      checkRaise(plan.revision, bumpRevision, { objects, exclude, oldRevision: old?.revision });
    const raisedRevision =
      bumpRevision === undefined ? undefined : await raiseRevision(toProve, bumpRevision, proof.liveKeys);
    const restoredAtMs = Date.now();
    const mark = formatRestoredMark({
      id: randomUUID(),
      base: base.object.name.text,
      revision: plan.revision,
      restoredAtMs,
    });
    const ids = await buildDirectory(this.#target, part, dbPath, this.#seat, mark);
    await syncTree(part.new);
    signal?.throwIfAborted();
    const before = await swapIn(this.#target, {
      nowMs: restoredAtMs,
      mark: this.#target.isMountPoint ? mark : null,
      ...(this.#request.exchange === undefined ? {} : { exchange: this.#request.exchange }),
    });
    const elapsedMs = Date.now() - this.#startedMs;
    const target = this.#target;
    return {
      target,
      plan,
      base,
      applied,
      proof,
      cluster: this.#cluster,
      ids,
      raisedRevision,
      unknownLeases: granted ?? proof.unknownLeases,
      before,
      old,
      lostUpTo,
      moment,
      elapsedMs,
    };
  }

  /** Chooses and applies until a choice holds. */
  async #applyChosen(
    chooser: Chooser,
    part: PartDir,
    ahead: DeltasAhead,
    old: OldMember | undefined,
  ): Promise<{ choice: Choice; applied: Applied }> {
    for (let tried = 1; ; tried++) {
      const choice = await chooser.choose((plan) => ahead.expect(plan.deltas));
      checkStale(this.#target, old, choice.plan.revision, this.#request);
      await checkSpace(part.path, spaceNeed(choice.plan, this.#request), this.#request.observer);
      try {
        return { choice, applied: await this.#apply(choice, part, ahead) };
      } catch (error) {
        await rm(join(part.work, 'apply'), { recursive: true, force: true });
        if (!isDamage(error) || tried === MAX_TRIES) throw error;
        if (error.object === undefined || !chooser.isPlanned(error.object)) throw error;
        chooser.exclude(error.object, error);
      }
    }
  }

  async #apply({ plan, base }: Choice, part: PartDir, ahead: DeltasAhead): Promise<Applied> {
    const { observer, signal } = this.#request;
    const applier = await this.#appliers.choose(plan, base);
    const objects = plan.deltas.map(({ object }) => object);
    const revisions = Number(plan.revision - plan.baseRevision);
    const request = {
      base,
      deltas: ahead.take(plan.deltas),
      until: plan.revision,
      seat: this.#seat,
      workDir: await part.makeDir('apply'),
      deltaBytes: objects.reduce((sum, { bytes }) => sum + bytes, 0),
      onProgress: (revision: bigint) =>
        observer.progress('apply deltas', Number(revision - plan.baseRevision), revisions, 'events'),
    };
    const [applied] = await together(signal, [
      (signal) => applier.apply({ ...request, signal }),
      () => base.history,
    ]);
    if (applied.revision === plan.revision) return applied;
    throw new BackupError(
      'MISMATCH',
      `the deltas end at revision ${applied.revision}, not at ${plan.revision}`,
      {
        op: 'restore',
        object: objects.at(-1)?.name.text ?? base.object.name.text,
      },
    );
  }

  /** Leases that keys refer to and that neither base nor deltas describe, if they are to be granted. */
  async #grantLeases(dbPath: string): Promise<UnknownLeases | undefined> {
    const { unknownLeaseTtlSeconds: ttl, signal } = this.#request;
    return ttl === undefined ? undefined : grantUnknownLeases(dbPath, BigInt(ttl), { signal });
  }

  async #prepareApplier(objects: readonly StoredSnapshot[]): Promise<void> {
    const { base, exclude, timeline, toRevision: targetRevision } = this.#request;
    const plan = planByName(planRestore({ objects, base, exclude, timeline, targetRevision }));
    if (plan !== undefined) await this.#appliers.prepare(plan);
  }

  #toProve(
    { plan, base }: Choice,
    { dbPath, checkpoints, rewritten }: Applied,
    objects: readonly StoredSnapshot[],
  ): ProofRequest {
    const { observer, signal } = this.#request;
    return {
      ...{ dbPath, checkpoints, objects, observer, signal, liveKeys: rewritten?.liveKeys },
      baseRevision: base.info.revision,
      revision: plan.revision,
    };
  }
}
