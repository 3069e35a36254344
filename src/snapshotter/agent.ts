/**
 * The continuous backup: sessions one after the other until it is asked to stop. A session that breaks is followed
 * by one that goes on where it ended, or, when the history is gone or was replaced, by one that begins a new set.
 *
 * Scheduled fulls, retention and requests over HTTP act on the same run: a full beside a standing session is
 * `fullOf(run, lineage.sealed, …)`, and deltas go on meanwhile.
 */
import { raceAbort, sleep } from '../base/abort.js';
import { Backoff } from '../base/backoff.js';
import { BackupError, type ErrorCode, isBackupError } from '../errors.js';
import type { TakenFull } from './full.js';
import { RETRY_BACKOFF } from './persist.js';
import { decide, findStand, type Parts, type Stand } from './prepare.js';
import { Session } from './session.js';
import type { StartDecision } from './start.js';

/** A session that stood this long shows that what broke earlier is over. */
const STABLE_MS = 60_000;

export class Agent {
  readonly #parts: Parts;
  readonly #backoff = new Backoff(RETRY_BACKOFF);
  #stand: Stand | undefined;
  #session: Session | undefined;
  /** Why the next session must begin a new set. */
  #forced: string | undefined;
  /** Something was stored or continued in this run: its settings work. */
  #begun = false;

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  /** Resolves when it was asked to stop and everything is stored; CANCELLED when not everything could be. */
  async work(): Promise<void> {
    const { signal } = this.#parts.run;
    while (!signal.aborted) {
      const startedMs = performance.now();
      try {
        await this.#oneSession();
      } catch (error) {
        if (signal.aborted) break;
        if (performance.now() - startedMs > STABLE_MS) this.#backoff.reset();
        await this.#afterBreak(error);
      }
    }
    await this.#storeRest();
  }

  /** Something was uploaded, or cannot be any more. */
  uploadsChanged(): void {
    this.#session?.roomChanged();
  }

  async #oneSession(): Promise<void> {
    const { run, ...parts } = this.#parts;
    const status = await run.client.status({ signal: run.signal });
    this.#stand ??= await findStand(this.#parts);
    const decision = await this.#decide(this.#stand, status);
    const { start } = decision;
    run.observe({ kind: 'start', ...decision });
    const before = this.#stand.lineage;
    const session = new Session({
      ...{ run, ...parts, status, before, start },
      limits: {
        periodMs: run.config.deltaPeriodMs,
        bytes: run.config.deltaBytes,
        events: run.config.deltaEvents,
      },
      outageLimitMs: Number.POSITIVE_INFINITY,
    });
    this.#session = session;
    try {
      const full = await session.begin(run.signal);
      if (full !== undefined) this.#begunWith(full, session);
      this.#begun = true;
      this.#forced = undefined;
      await session.broken(run.signal);
    } finally {
      await (run.signal.aborted && this.#begun ? session.flush() : session.close());
      this.#session = undefined;
    }
  }

  async #decide(stand: Stand, status: Parameters<typeof decide>[2]): Promise<StartDecision> {
    if (this.#forced !== undefined) return { start: 'full', reason: this.#forced };
    return decide(this.#parts.run, stand, status);
  }

  #begunWith({ name, revision, sha256, record, createdSecs }: TakenFull, session: Session): void {
    this.#stand = {
      position: {
        full: { createdSecs, final: false },
        end: { name, revision, sha256, record },
        missing: undefined,
        ownFormats: !this.#parts.run.config.gardener,
        byGoTool: false,
      },
      lineage: session.lineage,
    };
  }

  /** Waits as long as is decent; throws what no later session can overcome. */
  async #afterBreak(error: unknown): Promise<void> {
    const { run, uploads, spool } = this.#parts;
    if (!isBackupError(error)) throw error;
    if (!this.#begun && FATAL_AT_START.has(error.code)) throw error;
    const first = this.#backoff.tries === 0;
    if (uploads.failure !== undefined) {
      const aside = await spool.setAside(uploads.clear());
      const lineage = this.#stand?.lineage;
      if (lineage !== undefined) lineage.sealed = lineage.end;
      run.observe({
        kind: 'warning',
        text: `what waited in the spool is set aside in ${aside}: ${error.message}`,
      });
      this.#forced = 'what waited in the spool could not be stored';
    } else if (NEW_SET.has(error.code)) {
      this.#forced = error.message;
    }
    const waitMs = this.#backoff.next();
    const retryMs = first && this.#forced !== undefined ? 0 : waitMs;
    run.observe({ kind: 'failed', what: this.#begun ? 'capture' : 'start', error, retryMs });
    await sleep(retryMs, { signal: run.signal }).catch(() => undefined);
  }

  async #storeRest(): Promise<void> {
    const { run, uploads, spool } = this.#parts;
    try {
      await raceAbort(uploads.idle(), run.hardSignal);
    } catch (cause) {
      throw new BackupError('CANCELLED', `${uploads.waitingDeltas} deltas could not be stored in time`, {
        op: 'snapshot',
        object: spool.path,
        hint: 'they wait there; the next start publishes them',
        cause,
      });
    }
    if (!this.#begun)
      throw new BackupError('CANCELLED', 'stopped before a backup was stored', { op: 'snapshot' });
  }
}

/** Settings or an etcd that somebody must look at: found at once, they are told at once. */
const FATAL_AT_START: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  ...(['PERMISSION', 'USAGE', 'UNSUPPORTED', 'CORRUPT', 'LOCKED', 'INTERNAL'] as const),
]);

/** The events that follow are not known to continue what is stored. */
const NEW_SET: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  ...(['COMPACTED', 'REVISION_GAP', 'FORK', 'MISMATCH', 'NOT_SORTED'] as const),
]);
