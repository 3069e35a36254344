/**
 * One stretch of continuous capture: a watch that stands, the deltas that are cut from it, and, when a new set
 * begins, the full that they build on. The watch is opened first and read while the full is streamed, so that it
 * never falls behind (hazard 43). Ends by an error, or in order by `flush`.
 */
import { rm } from 'node:fs/promises';
import { type DerivedAbort, deriveAbort, raceAbort, sleep } from '../base/abort.js';
import { BackupError, isBackupError } from '../errors.js';
import type { EndpointStatus } from '../etcd/endpoint.js';
import { type Opened, openWatch, type Watch } from '../etcd/watch.js';
import { Capture, type CutDelta, type CutLimits } from './capture.js';
import { deltaName, type SealedDelta, seal } from './delta.js';
import type { ChainEnd, TakenFull } from './full.js';
import { compareHistory } from './history.js';
import type { LeaseBook } from './leases.js';
import { type Persistence, persistently } from './persist.js';
import { fullOf, type Run } from './run.js';
import type { Spool } from './spool.js';
import { type Lineage, MAX_WAITING_DELTAS, type Uploads } from './uploads.js';

export interface SessionOptions {
  readonly run: Run;
  readonly spool: Spool;
  readonly uploads: Uploads;
  readonly leases: LeaseBook;
  readonly limits: CutLimits;
  readonly status: EndpointStatus;
  /** The chain that there is; undefined before the first full of all. */
  readonly before: Lineage | undefined;
  /** "full": a new set is begun; "continue": the events follow what `before` ends with. */
  readonly start: 'full' | 'continue';
  readonly outageLimitMs: number;
}

/** Cut deltas that are not finished yet: more would mean that the disk cannot follow. */
const MAX_SEALING = 4;
/** How long, at the end, the watch may take to deliver what etcd has already written. */
const LAST_EVENTS_TIMEOUT_MS = 5_000;
const LAST_STATUS_TIMEOUT_MS = 3_000;
/** A history that cannot be compared because etcd does not answer is asked for so many times. */
const COMPARE_TRIES = 5;
const COMPARE_WAIT_MS = 500;

export class Session {
  readonly #options: SessionOptions;
  readonly #capture: Capture;
  readonly #watch: Watch;
  readonly #abort;
  readonly #sealPersistently: Persistence;
  /** Sealed while the full that they build on is not stored. */
  readonly #held: SealedDelta[] = [];
  #heldBytes = 0;
  readonly #number: number;
  /** That the deltas belong to; undefined while the full that begins it is not stored. */
  #lineage: Lineage | undefined;
  #full: Promise<TakenFull> | undefined;
  #fullAbort: DerivedAbort | undefined;
  #sealing = Promise.resolve();
  #sealingCount = 0;
  #sealFailed = false;
  /** The last complete event that is known whole. */
  #lastKnown: ChainEnd['record'];
  #fail: (error: unknown) => void = () => undefined;
  readonly #failed: Promise<never>;
  #paused = false;

  constructor(options: SessionOptions) {
    this.#options = options;
    const { run, before, start, status } = options;
    this.#abort = deriveAbort(run.hardSignal);
    this.#failed = new Promise((_, reject) => {
      this.#fail = reject;
    });
    this.#failed.catch(() => undefined);
    const onFailure = (error: BackupError, retryMs: number) =>
      run.observe({ kind: 'failed', what: 'spool', object: options.spool.path, error, retryMs });
    this.#sealPersistently = persistently({ onFailure });
    const continued = start === 'continue' ? before : undefined;
    this.#lineage = continued;
    this.#number = continued?.number ?? Math.max(before?.number ?? 0, options.spool.lineage) + 1;
    this.#lastKnown = continued?.sealed.record;
    const startRevision = (continued?.sealed.revision ?? status.revision) + 1n;
    this.#capture = this.#openCapture(startRevision);
    this.#watch = openWatch({
      client: run.client,
      startRevision,
      sink: this.#capture,
      outageLimitMs: options.outageLimitMs,
      signal: this.#abort.signal,
      onOpened: (opened) => this.#checkHistory(opened),
      onBroken: (error, retryMs) => run.observe({ kind: 'watch-broken', error, retryMs }),
    });
  }

  /** Undefined while the full that begins it is not stored. */
  get lineage(): Lineage | undefined {
    return this.#lineage;
  }

  get watch(): Watch {
    return this.#watch;
  }

  /**
   * Resolves when the watch stands and, at the beginning of a set, its full is stored. Asked to stop meanwhile, it
   * gives up a full that is not stored, but lets one that is take its place.
   */
  async begin(signal: AbortSignal): Promise<TakenFull | undefined> {
    if (this.#options.start === 'continue') {
      await this.#orFailure(this.#watch.opened, signal).catch((error) => this.#lastChance(error, signal));
      return undefined;
    }
    await this.#orFailure(this.#watch.opened, signal);
    this.#fullAbort = deriveAbort(signal);
    const full = this.#establish(this.#fullAbort.signal);
    this.#full = full;
    return this.#orFailure(full, signal).catch((error) => {
      if (signal.aborted) return full;
      throw error;
    });
  }

  /** Never resolves: rejects with what ends the session, or with the signal's reason. */
  async broken(signal: AbortSignal): Promise<never> {
    return this.#orFailure(new Promise<never>(() => undefined), signal);
  }

  /** Everything that etcd has written by now goes into a last delta; resolves when all of it is sealed. */
  async flush(): Promise<void> {
    const { run } = this.#options;
    try {
      const { revision } = await run.client.status({ timeoutMs: LAST_STATUS_TIMEOUT_MS });
      await this.#watch.reached(revision, LAST_EVENTS_TIMEOUT_MS);
    } catch (error) {
      run.observe({ kind: 'warning', text: `etcd did not say where it stands: ${(error as Error).message}` });
    }
    await this.close();
  }

  /** Ends the watch and seals what is complete. What has no base is removed. */
  async close(): Promise<void> {
    this.#fullAbort?.abort(new BackupError('CANCELLED', 'the capture has ended', { op: 'snapshot' }));
    await this.#full?.catch(() => undefined);
    await this.#watch.close();
    const unused = this.#stopCapture();
    await this.#sealing;
    for (const path of [...unused, ...this.#held.splice(0).map((sealed) => sealed.path)]) {
      await rm(path, { force: true });
    }
    this.#fullAbort?.dispose();
    this.#abort.dispose();
  }

  /** The spool has become smaller. */
  roomChanged(): void {
    this.#capture.roomChanged();
    const { failure } = this.#options.uploads;
    if (failure !== undefined) this.#fail(failure);
  }

  /** Stopped just after its start: what etcd has written since the last run is still worth a moment. */
  async #lastChance(error: unknown, signal: AbortSignal): Promise<void> {
    if (!signal.aborted) throw error;
    await Promise.race([this.#watch.opened, sleep(LAST_EVENTS_TIMEOUT_MS)]);
  }

  async #orFailure<T>(job: Promise<T>, signal: AbortSignal): Promise<T> {
    const ended = this.#watch.ended.then(() => {
      throw new BackupError('CANCELLED', 'the watch was closed', { op: 'snapshot' });
    });
    ended.catch(() => undefined);
    return raceAbort(Promise.race([job, ended, this.#failed]), signal);
  }

  async #establish(signal: AbortSignal): Promise<TakenFull> {
    const { run, spool, before } = this.#options;
    const upload = persistently({
      onFailure: (error, retryMs) => run.observe({ kind: 'failed', what: 'upload', error, retryMs }),
    });
    const full = await fullOf(run, before?.sealed, upload, signal);
    // The watch may have been on another history when the full was streamed; only now can they be compared. Where etcd
    // cannot tell (a key put and deleted in one revision), the unbroken watch vouches: to replace etcd breaks it.
    await this.#compare(full.record, 'unless-different');
    await this.#sealing;
    await spool.confirm(this.#number, full);
    const unneeded = this.#adopt(full);
    for (const path of unneeded) await rm(path, { force: true });
    return full;
  }

  /** In one step, so that nothing which is sealed meanwhile gets ahead. Returns deltas that the full holds already. */
  #adopt(full: TakenFull): string[] {
    const lineage = { number: this.#number, end: full, sealed: full };
    this.#lineage = lineage;
    this.#lastKnown ??= full.record;
    this.#heldBytes = 0;
    const unneeded: string[] = [];
    for (const sealed of this.#held.splice(0)) {
      if (sealed.end.revision > full.revision) this.#upload(sealed, lineage);
      else unneeded.push(sealed.path);
    }
    return unneeded;
  }

  #upload(sealed: SealedDelta, lineage: Lineage): void {
    lineage.sealed = sealed.end;
    this.#options.uploads.add(sealed, lineage);
  }

  #openCapture(startRevision: bigint): Capture {
    const { run, spool, limits, leases, status } = this.#options;
    const { version, clusterId, memberId } = status;
    const timeline = run.restored?.id ?? null;
    return new Capture({
      startRevision,
      predecessor: this.#lineage?.sealed.name ?? '',
      limits,
      header: { serverVersion: version, clusterId, memberId, timeline, predecessorSha256: null },
      pathFor: (start) => spool.pathFor(this.#number, start),
      nameOf: (cut) => deltaName(cut, run.config),
      onCut: (cut) => this.#seal(cut),
      onLeases: (ids) => leases.note(ids),
      onError: (error) => this.#fail(error),
      hasRoom: (openBytes) => this.#hasRoom(openBytes),
    });
  }

  #hasRoom(openBytes: number): boolean {
    const { run, uploads } = this.#options;
    const bytes = uploads.waitingBytes + this.#heldBytes + openBytes;
    const deltas = uploads.waitingDeltas + this.#held.length;
    const room = bytes < run.config.spoolBytes && deltas < MAX_WAITING_DELTAS;
    this.#tellPaused(!room, bytes);
    return room && this.#sealingCount <= MAX_SEALING;
  }

  /** Files that nobody needs. */
  #stopCapture(): string[] {
    try {
      const unused = this.#capture.stop();
      return unused === undefined ? [] : [unused];
    } catch (error) {
      // What is in it is read from etcd once more, or recovered by the next start.
      this.#fail(error);
      return [];
    }
  }

  #tellPaused(paused: boolean, waitingBytes: number): void {
    if (paused === this.#paused) return;
    this.#paused = paused;
    this.#options.run.observe({ kind: 'spool-full', paused, waitingBytes });
  }

  /** One after the other, since they are published in this order. */
  #seal(cut: CutDelta): void {
    this.#sealingCount += 1;
    this.#sealing = this.#sealing.then(async () => {
      try {
        // Behind one that is lost there would be a hole; etcd is asked for these once more.
        if (!this.#sealFailed) await this.#sealOne(cut);
      } catch (error) {
        this.#sealFailed = true;
        this.#fail(error);
      } finally {
        this.#sealingCount -= 1;
        this.#capture.roomChanged();
      }
    });
  }

  async #sealOne(cut: CutDelta): Promise<void> {
    const { run, leases } = this.#options;
    const sealing = () => seal(cut, { leases, config: run.config, observe: run.observe });
    const sealed = await this.#sealPersistently(sealing, this.#abort.signal);
    this.#lastKnown = sealed.end.record;
    if (this.#lineage !== undefined) return this.#upload(sealed, this.#lineage);
    this.#held.push(sealed);
    this.#heldBytes += sealed.summary.bytes;
  }

  /** After each connection, since etcd may have been replaced while it was away (hazard 44). */
  async #checkHistory({ endpoint, startRevision, resumed }: Opened): Promise<void> {
    if (resumed) {
      this.#capture.cut();
      await this.#sealing;
    }
    await this.#compare(this.#lastKnown);
    this.#options.run.observe({ kind: 'watching', endpoint, fromRevision: startRevision });
  }

  async #compare(record: ChainEnd['record'], passes: 'same' | 'unless-different' = 'same'): Promise<void> {
    if (record === undefined) return;
    const { client, observe } = this.#options.run;
    const verdict = await tryAgain(() => compareHistory(record, client, { signal: this.#abort.signal }));
    if (verdict.history === 'same' || (passes === 'unless-different' && verdict.history === 'unknown'))
      return;
    const code = verdict.history === 'different' ? 'FORK' : 'COMPACTED';
    observe({ kind: 'warning', text: verdict.why });
    throw new BackupError(code, verdict.why, { op: 'snapshot', hint: 'a new full begins a new set' });
  }
}

async function tryAgain<T>(ask: () => Promise<T>): Promise<T> {
  for (let tried = 1; ; tried++) {
    try {
      return await ask();
    } catch (error) {
      const passing = isBackupError(error, 'UNAVAILABLE') || isBackupError(error, 'TIMEOUT');
      if (!passing || tried === COMPARE_TRIES) throw error;
      await sleep(COMPARE_WAIT_MS);
    }
  }
}
