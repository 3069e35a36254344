/**
 * A watch of the whole key space that survives broken connections, restarts and members that come and go without
 * losing, repeating or inventing a revision. The position is the last event's revision, never a header's: etcd sends
 * the store's current revision in the header of events that are far behind it.
 */
import { deriveAbort, sleep } from '../base/abort.js';
import { Backoff } from '../base/backoff.js';
import { BackupError, isBackupError } from '../errors.js';
import { RawChannel } from './channel.js';
import type { EtcdClient } from './client.js';
import { CompactionGuard } from './compaction-guard.js';
import { WatchConnection } from './watch-connection.js';
import type { Pushed, WatchSink } from './watch-sink.js';

export interface WatchOptions {
  readonly client: EtcdClient;
  readonly startRevision: bigint;
  readonly sink: WatchSink;
  /** How long no endpoint may hold a watch before the watch ends with the last failure; Infinity for a sidecar. */
  readonly outageLimitMs: number;
  readonly signal?: AbortSignal | undefined;
  /**
   * Awaited each time the watch stands, before the first event is taken: the place to prove that etcd still has the
   * history that the events continue. A rejection ends the watch.
   */
  readonly onOpened?: ((opened: Opened) => Promise<void>) | undefined;
  readonly onBroken?: ((failure: BackupError, retryMs: number) => void) | undefined;
}

export interface Opened {
  readonly endpoint: string;
  readonly startRevision: bigint;
  readonly storeRevision: bigint;
  /** Two histories may share it; different ones never belong together. */
  readonly clusterId: bigint;
  /** False the first time. */
  readonly resumed: boolean;
}

export interface WatchStatus {
  /** Null while no stream stands. */
  readonly endpoint: string | null;
  /** Last complete revision. */
  readonly lastRevision: bigint;
  /** Newest revision of the store that etcd told of. */
  readonly storeRevision: bigint;
  /** How far behind the store the events are: what costs etcd dear when it is large. */
  readonly lagRevisions: bigint;
  readonly reconnects: number;
  readonly lastResponseMs: number;
}

export interface Watch {
  /** Resolves when the watch stands for the first time, rejects as `ended` does. */
  readonly opened: Promise<void>;
  /**
   * Resolves after `close` or the caller's abort. Rejects with COMPACTED (a full is needed), FORK (etcd's revision is
   * below our own), PERMISSION, what the sink threw, or the last failure after `outageLimitMs`.
   */
  readonly ended: Promise<void>;
  status(): WatchStatus;
  /** True as soon as `revision` is complete, false after `timeoutMs` or when the watch ends before. */
  reached(revision: bigint, timeoutMs: number): Promise<boolean>;
  /** Ends the stream and waits for that; the sink keeps what it has. */
  close(): Promise<void>;
}

/** A sidecar that reads as fast as it can must not be slowed by the window; see hazard 43 of the design. */
const WATCH_WINDOW_BYTES = 4 * 1024 * 1024;
const BACKOFF = { firstMs: 100, factor: 2, maxMs: 5_000, jitter: 0.5 };
/** A stream that stood this long starts the backoff anew. */
const STABLE_MS = 10_000;
/** A member may lag behind the one we were on; an etcd that stays behind was put back to an older state. */
const MAX_BEHIND = 8;
const REACHED_POLL_MS = 20;

export function openWatch(options: WatchOptions): Watch {
  const loop = new WatchLoop(options);
  const ended = loop.run();
  const opened = Promise.race([loop.opened, ended.then(() => loop.throwClosed())]);
  opened.catch(() => undefined);
  ended.catch(() => undefined);
  return {
    opened,
    ended,
    status: () => loop.status(),
    reached: (revision, timeoutMs) => loop.reached(revision, timeoutMs),
    close: async () => {
      loop.close();
      await ended.catch(() => undefined);
    },
  };
}

class WatchLoop {
  readonly opened: Promise<void>;
  readonly #options: WatchOptions;
  readonly #abort;
  readonly #guard: CompactionGuard;
  readonly #backoff = new Backoff(BACKOFF);
  #markOpened: () => void = () => undefined;
  #fatal: BackupError | undefined;
  #endpoint: string | null = null;
  #lastRevision: bigint;
  #storeRevision = 0n;
  #connections = 0;
  #behind = 0;
  #lastResponseMs = 0;
  #lastStoodMs = performance.now();
  #done = false;

  constructor(options: WatchOptions) {
    this.#options = options;
    this.#lastRevision = options.startRevision - 1n;
    this.#abort = deriveAbort(options.signal);
    this.opened = new Promise((resolve) => {
      this.#markOpened = resolve;
    });
    this.#guard = new CompactionGuard(
      (revision) => options.client.assertReadable(revision, { signal: this.#abort.signal }),
      (error) => this.#fail(error),
    );
  }

  async run(): Promise<void> {
    const { endpoints } = this.#options.client.connection;
    let startRevision = this.#options.startRevision;
    try {
      for (let turn = 0; ; turn++) {
        const endpoint = endpoints[turn % endpoints.length] as string;
        startRevision = await this.#watchOnce(endpoint, startRevision);
      }
    } catch (error) {
      if (this.#fatal !== undefined) throw this.#fatal;
      if (!this.#abort.signal.aborted) throw error;
    } finally {
      this.#done = true;
      this.#abort.dispose();
    }
  }

  close(): void {
    this.#abort.abort(new BackupError('CANCELLED', 'the watch was closed', { op: 'watch' }));
  }

  throwClosed(): never {
    throw new BackupError('CANCELLED', 'the watch was closed before it stood', { op: 'watch' });
  }

  status(): WatchStatus {
    const lag = this.#storeRevision - this.#lastRevision;
    return {
      endpoint: this.#endpoint,
      lastRevision: this.#lastRevision,
      storeRevision: this.#storeRevision,
      lagRevisions: lag > 0n ? lag : 0n,
      reconnects: Math.max(this.#connections - 1, 0),
      lastResponseMs: this.#lastResponseMs,
    };
  }

  async reached(revision: bigint, timeoutMs: number): Promise<boolean> {
    const deadlineMs = performance.now() + timeoutMs;
    while (this.#lastRevision < revision) {
      if (this.#done || performance.now() > deadlineMs) return false;
      await sleep(REACHED_POLL_MS);
    }
    return true;
  }

  /** Watches until the stream breaks; waits; returns the revision to resume at. */
  async #watchOnce(endpoint: string, startRevision: bigint): Promise<bigint> {
    const { client, sink } = this.#options;
    const openedMs = performance.now();
    const channel = await RawChannel.open(client.connection, endpoint, { windowBytes: WATCH_WINDOW_BYTES });
    const connection = new WatchConnection({
      channel,
      startRevision,
      sink,
      createTimeoutMs: client.connection.connectionTimeoutMs,
      signal: this.#abort.signal,
      onCreated: (pushed) => this.#onCreated(endpoint, startRevision, pushed),
      onPushed: this.#observer(),
      onTick: () => void this.#guard.retry(),
    });
    try {
      return await connection.run();
    } catch (error) {
      const failure = this.#retryable(error, connection);
      if (performance.now() - openedMs > STABLE_MS) this.#backoff.reset();
      const retryMs = this.#backoff.next();
      this.#options.onBroken?.(failure, retryMs);
      const resumeRevision = connection.touched ? sink.dropPartial() : startRevision;
      await sleep(retryMs, { signal: this.#abort.signal });
      return resumeRevision;
    } finally {
      if (connection.created) this.#lastStoodMs = performance.now();
      this.#endpoint = null;
      channel.close();
    }
  }

  async #onCreated(endpoint: string, startRevision: bigint, pushed: Pushed): Promise<void> {
    const storeRevision = pushed.headerRevision;
    if (storeRevision < startRevision - 1n) throw this.#storeIsBehind(endpoint, storeRevision);
    this.#behind = 0;
    const resumed = this.#connections > 0;
    const { clusterId } = pushed;
    const opened = { endpoint, startRevision, storeRevision, clusterId, resumed };
    await this.#hook(() => this.#options.onOpened?.(opened));
    this.#connections += 1;
    this.#endpoint = endpoint;
    this.#lastStoodMs = performance.now();
    this.#markOpened();
  }

  /** What the caller's hook throws ends the watch, whatever its code. */
  async #hook(hook: () => Promise<void> | undefined): Promise<void> {
    try {
      await hook();
    } catch (error) {
      this.#fail(error);
      throw error;
    }
  }

  /** Notes positions; the first events of a stream and all that lag were read from history, and are checked. */
  #observer(): (pushed: Pushed) => void {
    let first = true;
    return (pushed) => {
      this.#lastResponseMs = Date.now();
      const { headerRevision, firstRevision, lastRevision, fragment } = pushed;
      if (headerRevision > this.#storeRevision) this.#storeRevision = headerRevision;
      if (firstRevision === null || lastRevision === null) return;
      const complete = fragment ? lastRevision - 1n : lastRevision;
      if (complete > this.#lastRevision) this.#lastRevision = complete;
      this.#backoff.reset();
      if (first || headerRevision > lastRevision) this.#guard.check(firstRevision);
      first = false;
    };
  }

  #storeIsBehind(endpoint: string, storeRevision: bigint): BackupError {
    this.#behind += 1;
    const what = `etcd is at revision ${storeRevision}, below ${this.#lastRevision} which was already received`;
    const code = this.#behind < MAX_BEHIND ? 'UNAVAILABLE' : 'FORK';
    return new BackupError(code, what, {
      op: 'watch',
      object: endpoint,
      hint: 'etcd was replaced by an older state: a new full snapshot is needed',
    });
  }

  /** The failure if another try makes sense, else throws it. */
  #retryable(error: unknown, connection: WatchConnection): BackupError {
    this.#abort.signal.throwIfAborted();
    if (!isBackupError(error)) throw error;
    const outageMs = connection.created ? 0 : performance.now() - this.#lastStoodMs;
    // A stream that stood may lose its token or its user's rights; a new one starts with a new token.
    const final = FINAL_CODES.has(error.code) || (error.code === 'PERMISSION' && !connection.created);
    if (final || outageMs > this.#options.outageLimitMs) throw error;
    return error;
  }

  #fail(error: unknown): void {
    this.#fatal ??= isBackupError(error)
      ? error
      : new BackupError('INTERNAL', String(error), { op: 'watch', cause: error });
    this.#abort.abort(this.#fatal);
  }
}

/** Trying again cannot help, or would hide what the sink found in the events. */
const FINAL_CODES: ReadonlySet<string> = new Set<BackupError['code']>([
  ...(['COMPACTED', 'FORK', 'REVISION_GAP', 'NOT_SORTED', 'CORRUPT', 'MISMATCH', 'CHECKSUM'] as const),
  ...(['USAGE', 'UNSUPPORTED', 'NO_SPACE', 'READ_ONLY', 'IO', 'INTERNAL'] as const),
]);
