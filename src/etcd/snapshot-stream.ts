/**
 * Maintenance.Snapshot: the messages of the stream, undecoded and in order, to a sink that takes them in natively.
 * Whether the stream was whole (its length, the SHA-256 at its end) is the sink's to say: a stream that etcd ended
 * without an error can still be short.
 */
import type { ClientReadableStream } from '@grpc/grpc-js';
import { onAbort, raceAbort } from '../base/abort.js';
import { startWatchdog, type Watchdog } from '../base/watchdog.js';
import { BackupError, isBackupError } from '../errors.js';
import { RawChannel } from './channel.js';
import type { EtcdConnection } from './connection.js';
import { streamFailure } from './failure.js';

/** What the native intake looks like from here. */
export interface SnapshotSink {
  /** One message as it came off the wire; `stop` when the sink has failed, which its own end explains. */
  push(message: Uint8Array): 'more' | 'pause' | 'stop';
  /** Resolves when `push` may go on after `pause`. */
  drained(): Promise<void>;
}

export interface SnapshotStreamOptions {
  /** There is no limit on the whole: a large db takes its time. */
  readonly noProgressTimeoutMs: number;
  readonly signal?: AbortSignal | undefined;
  /** Called for every message, with the bytes received so far. */
  readonly onProgress?: ((receivedBytes: number) => void) | undefined;
}

export interface SnapshotStream {
  /** The endpoint that sent it. */
  readonly endpoint: string;
  /** Wall clock at the moment when the stream was opened: the time of a full. */
  readonly openedMs: number;
  readonly receivedBytes: number;
  /** False when the sink stopped taking messages. */
  readonly ended: boolean;
}

/** Far above gRPC's default of 64 KiB; 8 MiB was no faster and took 10 MiB more memory (bench/README.md). */
const SNAPSHOT_WINDOW_BYTES = 4 * 1024 * 1024;
const SNAPSHOT_METHOD = '/etcdserverpb.Maintenance/Snapshot';
const OP = 'snapshot';

/**
 * Streams a snapshot from the first endpoint that begins to send one. Once a message was handed over, a failure is
 * final: UNAVAILABLE when the stream was cut, TIMEOUT when nothing moved, CANCELLED, or what etcd refused.
 */
export async function streamSnapshot(
  connection: EtcdConnection,
  sink: SnapshotSink,
  options: SnapshotStreamOptions,
): Promise<SnapshotStream> {
  let last: unknown;
  for (const endpoint of connection.endpoints) {
    const pump = new Pump(endpoint, sink, options);
    try {
      return await pump.run(connection);
    } catch (error) {
      const elsewhere = isBackupError(error, 'UNAVAILABLE') || isBackupError(error, 'TIMEOUT');
      if (pump.receivedBytes > 0 || !elsewhere) throw error;
      last = error;
    }
  }
  throw last ?? new BackupError('USAGE', 'no endpoint is given', { op: OP, hint: 'give --endpoints' });
}

class Pump {
  receivedBytes = 0;
  #waitingFor: 'etcd' | 'the disk' = 'etcd';
  readonly #endpoint: string;
  readonly #sink: SnapshotSink;
  readonly #options: SnapshotStreamOptions;

  constructor(endpoint: string, sink: SnapshotSink, options: SnapshotStreamOptions) {
    this.#endpoint = endpoint;
    this.#sink = sink;
    this.#options = options;
  }

  async run(connection: EtcdConnection): Promise<SnapshotStream> {
    using watchdog = startWatchdog({
      ms: this.#options.noProgressTimeoutMs,
      reason: () => this.#stuck(),
      signal: this.#options.signal,
    });
    const channel = await RawChannel.open(connection, this.#endpoint, { windowBytes: SNAPSHOT_WINDOW_BYTES });
    try {
      const openedMs = Date.now();
      const opening = channel.serverStream(SNAPSHOT_METHOD, Buffer.alloc(0));
      const stream = await raceAbort(opening, watchdog.signal);
      const ended = await this.#pump(stream, watchdog);
      return { endpoint: this.#endpoint, openedMs, receivedBytes: this.receivedBytes, ended };
    } catch (error) {
      if (watchdog.signal.aborted) throw this.#abortReason(watchdog.signal.reason);
      throw streamFailure(error, OP, this.#endpoint);
    } finally {
      channel.close();
    }
  }

  async #pump(stream: ClientReadableStream<Buffer>, watchdog: Watchdog): Promise<boolean> {
    const unhook = onAbort(watchdog.signal, () => stream.cancel());
    try {
      for await (const message of stream as AsyncIterable<Buffer>) {
        this.receivedBytes += message.length;
        watchdog.progress();
        this.#options.onProgress?.(this.receivedBytes);
        const answer = this.#sink.push(message);
        if (answer === 'stop') return false;
        if (answer === 'pause') await this.#drained(watchdog);
      }
      return true;
    } finally {
      unhook();
      stream.cancel();
    }
  }

  async #drained(watchdog: Watchdog): Promise<void> {
    this.#waitingFor = 'the disk';
    await raceAbort(this.#sink.drained(), watchdog.signal);
    this.#waitingFor = 'etcd';
    watchdog.progress();
  }

  #stuck(): BackupError {
    const seconds = Math.round(this.#options.noProgressTimeoutMs / 1000);
    return new BackupError('TIMEOUT', `no progress for ${seconds} s, waiting for ${this.#waitingFor}`, {
      op: OP,
      object: this.#endpoint,
    });
  }

  #abortReason(reason: unknown): BackupError {
    if (isBackupError(reason)) return reason;
    return new BackupError('CANCELLED', 'cancelled', { op: OP, object: this.#endpoint, cause: reason });
  }
}
