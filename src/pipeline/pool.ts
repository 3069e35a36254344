/**
 * The threads that fetch. A job is stopped by a flag that its worker polls; only when that is not heard within a
 * grace time are the threads themselves ended.
 */
import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import { Piscina } from 'piscina';
import { onAbort, sleep } from '../base/abort.js';
// Loaded here first: an addon that a worker is the first to load is unloaded with that worker.
import '../native/index.js';
import { BackupError } from '../errors.js';
import { fromPlainFailure } from './failure.js';
import { CONTROL_BYTES, type FetchAnswer, type FetchTask } from './task.js';

export interface FetchPoolOptions {
  /** Jobs at a time. */
  readonly maxFetchers: number;
  /** Stands in for the worker where a test wants a store that fails. */
  readonly workerUrl?: URL | undefined;
}

export interface RunOptions {
  readonly signal?: AbortSignal | undefined;
  /** Bytes of this job so far. */
  readonly onProgress?: ((bytes: number) => void) | undefined;
}

/** From src under a test runner as well as from dist. */
const WORKER_URL = new URL('../../dist/pipeline/worker.js', import.meta.url);
/** Of the JavaScript heap of each worker: bytes pass through it in chunks of at most 1 MiB. */
const WORKER_HEAP_MB = 64;
const CANCEL_GRACE_MS = 5_000;
const PROGRESS_POLL_MS = 200;

export class FetchPool {
  readonly maxFetchers: number;
  readonly #pool: Piscina<FetchTask, FetchAnswer>;
  /** Control words of the jobs that run, with the end of each. */
  readonly #running = new Map<SharedArrayBuffer, Promise<FetchAnswer>>();
  /** Rejects when a worker dies without a job of its own, for example while it loads: queued jobs would wait for ever. */
  readonly #broken: Promise<never>;
  #closed = false;

  constructor({ maxFetchers, workerUrl = WORKER_URL }: FetchPoolOptions) {
    this.maxFetchers = maxFetchers;
    const threads = Math.min(maxFetchers, availableParallelism());
    this.#pool = new Piscina({
      filename: fileURLToPath(workerUrl),
      minThreads: 1,
      maxThreads: threads,
      concurrentTasksPerWorker: Math.ceil(maxFetchers / threads),
      resourceLimits: { maxOldGenerationSizeMb: WORKER_HEAP_MB },
    });
    this.#broken = new Promise((_, reject) => this.#pool.on('error', reject));
    this.#broken.catch(() => undefined);
  }

  async run(task: Omit<FetchTask, 'control'>, { signal, onProgress }: RunOptions = {}): Promise<FetchAnswer> {
    if (this.#closed) throw cancelled(task, undefined);
    signal?.throwIfAborted();
    const control = new SharedArrayBuffer(CONTROL_BYTES);
    const unhook = onAbort(signal, () => stop(control));
    const timer = onProgress && setInterval(() => onProgress(fetchedBytes(control)), PROGRESS_POLL_MS);
    const answer = this.#pool.run({ ...task, control });
    answer.catch(() => undefined);
    this.#running.set(control, answer);
    try {
      return await Promise.race([answer, this.#broken]);
    } catch (cause) {
      throw this.#closed || signal?.aborted ? cancelled(task, signal) : workerFault(task, cause);
    } finally {
      onProgress?.(fetchedBytes(control));
      clearInterval(timer);
      unhook();
      this.#running.delete(control);
    }
  }

  /** Stops what still runs and ends the threads. */
  async close(): Promise<void> {
    this.#closed = true;
    for (const control of this.#running.keys()) stop(control);
    const patience = new AbortController();
    await Promise.race([
      Promise.allSettled(this.#running.values()),
      sleep(CANCEL_GRACE_MS, { signal: patience.signal }).catch(() => undefined),
    ]);
    patience.abort();
    await this.#pool.destroy();
  }
}

/** The answer's value, or its failure as an error. */
export function unwrap(answer: FetchAnswer) {
  if (answer.ok) return answer.delta;
  throw fromPlainFailure(answer.failure);
}

function stop(control: SharedArrayBuffer): void {
  Atomics.store(new Int32Array(control, 0, 1), 0, 1);
}

function fetchedBytes(control: SharedArrayBuffer): number {
  return Number(Atomics.load(new BigInt64Array(control, 8, 1), 0));
}

function cancelled(task: Pick<FetchTask, 'object'>, signal: AbortSignal | undefined): BackupError {
  return new BackupError('CANCELLED', 'cancelled', {
    op: 'fetch',
    object: task.object.name,
    cause: signal?.reason,
  });
}

function workerFault(task: Pick<FetchTask, 'object'>, cause: unknown): BackupError {
  const { message } = cause as Error;
  return new BackupError('INTERNAL', `a fetch worker failed (${message})`, {
    op: 'fetch',
    object: task.object.name,
    cause,
  });
}
