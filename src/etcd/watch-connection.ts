/** One watch stream on one endpoint, from its creation to its end. Never returns: it ends by an error. */
import type { ClientDuplexStream } from '@grpc/grpc-js';
import { onAbort, raceAbort } from '../base/abort.js';
import { BackupError } from '../errors.js';
import type { RawChannel } from './channel.js';
import { etcdFailure, streamFailure } from './failure.js';
import { encodeWatchAll, encodeWatchProgress } from './proto.js';
import { ReadAhead } from './read-ahead.js';
import type { Pushed, WatchSink } from './watch-sink.js';

/** After this much silence etcd is asked for its revision. */
export const PROGRESS_AFTER_MS = 5_000;
/** A stream that stays silent all the same is given up; a dead connection shows sooner, by keepalive. */
export const SILENCE_LIMIT_MS = 60_000;
const TICK_MS = 1_000;
/** Responses held beyond the one that the sink works on. */
const READ_AHEAD_RESPONSES = 2;
/** etcd then ends the watch when its member has lost the leader, instead of leaving it silent. */
const HEADERS = { hasleader: 'true' };

export interface WatchConnectionOptions {
  readonly channel: RawChannel;
  readonly startRevision: bigint;
  readonly sink: WatchSink;
  readonly createTimeoutMs: number;
  readonly signal: AbortSignal;
  /** Awaited when the watch stands, before the first event is taken; a rejection ends the stream. */
  readonly onCreated: (pushed: Pushed) => Promise<void>;
  readonly onPushed: (pushed: Pushed) => void;
  /** About once a second. */
  readonly onTick: () => void;
}

export class WatchConnection {
  /** Whether etcd confirmed the watch. */
  created = false;
  /** Whether anything reached the sink, which may now hold a revision in part. */
  touched = false;
  readonly #options: WatchConnectionOptions;
  readonly #openedMs = performance.now();
  readonly #readAhead = new ReadAhead(READ_AHEAD_RESPONSES);
  #lastMs = performance.now();
  #askedMs = 0;
  /** While the sink or `onCreated` is waited for, silence is ours. */
  #waiting = false;
  #reason: BackupError | undefined;

  constructor(options: WatchConnectionOptions) {
    this.#options = options;
  }

  async run(): Promise<never> {
    const { channel, startRevision, signal } = this.#options;
    const opening = channel.duplex('/etcdserverpb.Watch/Watch', {
      headers: HEADERS,
      readAhead: this.#readAhead,
    });
    const stream = await raceAbort(opening, signal);
    stream.write(encodeWatchAll(startRevision));
    const unhook = onAbort(signal, () => stream.cancel());
    const timer = setInterval(() => this.#tick(stream), TICK_MS);
    try {
      await this.#read(stream);
      throw new BackupError('UNAVAILABLE', 'etcd ended the watch stream', this.#names());
    } catch (error) {
      signal.throwIfAborted();
      throw this.#reason ?? streamFailure(error, 'watch', channel.endpoint);
    } finally {
      clearInterval(timer);
      unhook();
      stream.cancel();
    }
  }

  async #read(stream: ClientDuplexStream<Buffer, Buffer>): Promise<void> {
    const { sink } = this.#options;
    for await (const response of stream as AsyncIterable<Buffer>) {
      this.#lastMs = performance.now();
      this.touched = true;
      const pushed = sink.onResponse(response, Date.now());
      if (pushed.canceled) throw this.#canceled(pushed);
      this.#options.onPushed(pushed);
      if (pushed.created) await this.#waitFor(this.#options.onCreated(pushed));
      if (pushed.created) this.created = true;
      if (sink.isFull()) await this.#waitFor(sink.drained());
      this.#readAhead.taken();
    }
  }

  async #waitFor(promise: Promise<void>): Promise<void> {
    this.#waiting = true;
    await raceAbort(promise, this.#options.signal);
    this.#waiting = false;
    this.#lastMs = performance.now();
  }

  #tick(stream: ClientDuplexStream<Buffer, Buffer>): void {
    this.#options.onTick();
    if (this.#waiting) return;
    const nowMs = performance.now();
    const { createTimeoutMs } = this.#options;
    const silentMs = nowMs - this.#lastMs;
    if (!this.created && nowMs - this.#openedMs > createTimeoutMs) {
      this.#giveUp(stream, `no answer for ${createTimeoutMs / 1000} s`);
    } else if (silentMs > SILENCE_LIMIT_MS) {
      this.#giveUp(stream, `silent for ${SILENCE_LIMIT_MS / 1000} s`);
    } else if (this.created && silentMs > PROGRESS_AFTER_MS && nowMs - this.#askedMs > PROGRESS_AFTER_MS) {
      this.#askedMs = nowMs;
      stream.write(encodeWatchProgress());
    }
  }

  #giveUp(stream: ClientDuplexStream<Buffer, Buffer>, what: string): void {
    this.#reason = new BackupError('TIMEOUT', what, this.#names());
    stream.cancel();
  }

  #canceled(pushed: Pushed): BackupError {
    const { startRevision, channel } = this.#options;
    if (pushed.compactRevision > 0n || /has been compacted/.test(pushed.cancelReason)) {
      const upTo = pushed.compactRevision > 0n ? ` (compacted to ${pushed.compactRevision})` : '';
      return new BackupError('COMPACTED', `history from revision ${startRevision} on is gone${upTo}`, {
        ...this.#names(),
        hint: 'a new full snapshot is needed',
      });
    }
    const reason = pushed.cancelReason === '' ? 'etcd cancelled the watch' : pushed.cancelReason;
    const failure = etcdFailure({ message: reason }, 'watch', channel.endpoint);
    return failure.code === 'INTERNAL' ? new BackupError('UNAVAILABLE', reason, this.#names()) : failure;
  }

  #names(): { op: string; object: string } {
    return { op: 'watch', object: this.#options.channel.endpoint };
  }
}
