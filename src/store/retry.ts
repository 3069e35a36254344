/** Repeats what failed with UNAVAILABLE or TIMEOUT. A body goes on at the byte, a listing behind the key, where it broke. */
import { sleep } from '../base/abort.js';
import { type BackoffOptions, backoffMs } from '../base/backoff.js';
import { BackupError, isBackupError } from '../errors.js';
import { cancelled } from './cancel.js';
import { checkRange } from './checks.js';
import type {
  CleanUpResult,
  GetOptions,
  ListOptions,
  ObjectHead,
  PutFileOptions,
  PutResult,
  Store,
  StoredObject,
  StoreOptions,
} from './store.js';

export interface RetryOptions {
  /** Tries in all, the first one included, without progress in between. */
  readonly tries: number;
  readonly backoff: BackoffOptions;
  readonly onRetry?: ((retry: Retry) => void) | undefined;
  readonly random?: (() => number) | undefined;
}

export interface Retry {
  readonly error: BackupError;
  /** Number of the try that failed, from 1. */
  readonly failed: number;
  readonly waitMs: number;
}

export const DEFAULT_RETRY: RetryOptions = {
  tries: 6,
  backoff: { firstMs: 1000, factor: 2, maxMs: 30_000, jitter: 0.5 },
};

/**
 * So much must have arrived before failures are counted anew: a body of N bytes takes at most
 * `tries` x (N / PROGRESS_BYTES + 1) tries, however the connection behaves.
 */
const PROGRESS_BYTES = 1024 * 1024;
const PROGRESS_OBJECTS = 1000;

export class RetryingStore implements Store {
  readonly location: string;
  readonly #store: Store;
  readonly #options: RetryOptions;

  constructor(store: Store, options: RetryOptions = DEFAULT_RETRY) {
    this.location = store.location;
    this.#store = store;
    this.#options = options;
  }

  async *list(prefix: string, options: ListOptions = {}): AsyncGenerator<StoredObject> {
    const tries = new Tries(this.#options, options.signal);
    let { after, onSkipped } = options;
    for (let done = false; !done; ) {
      try {
        for await (const object of this.#store.list(prefix, { ...options, after, onSkipped })) {
          after = object.key;
          tries.progress(1, PROGRESS_OBJECTS);
          yield object;
        }
        done = true;
      } catch (error) {
        await tries.failed(error);
        // Directories are read again from their beginning, and what is odd there was reported.
        onSkipped = undefined;
      }
    }
  }

  async *get(key: string, options: GetOptions = {}): AsyncGenerator<Uint8Array> {
    checkRange(key, options.range);
    const tries = new Tries(this.#options, options.signal);
    const range = options.range ?? { offset: 0 };
    let got = 0;
    for (let done = false; !done; ) {
      const left = range.bytes === undefined ? undefined : range.bytes - got;
      const rest = { offset: range.offset + got, bytes: left };
      try {
        for await (const chunk of this.#store.get(key, { ...options, range: rest })) {
          got += chunk.length;
          tries.progress(chunk.length, PROGRESS_BYTES);
          yield chunk;
        }
        done = true;
      } catch (error) {
        await tries.failed(error);
      }
    }
  }

  head(key: string, options: StoreOptions = {}): Promise<ObjectHead> {
    return this.#repeat(options.signal, () => this.#store.head(key, options));
  }

  putFile(key: string, path: string, options: PutFileOptions): Promise<PutResult> {
    return this.#repeat(options.signal, () => this.#store.putFile(key, path, options));
  }

  putBytes(key: string, content: Uint8Array, options: StoreOptions = {}): Promise<PutResult> {
    return this.#repeat(options.signal, () => this.#store.putBytes(key, content, options));
  }

  delete(key: string, options: StoreOptions = {}): Promise<void> {
    return this.#repeat(options.signal, () => this.#store.delete(key, options));
  }

  cleanUp(prefix: string, options: StoreOptions = {}): Promise<CleanUpResult> {
    return this.#repeat(options.signal, () => this.#store.cleanUp(prefix, options));
  }

  async #repeat<T>(signal: AbortSignal | undefined, operation: () => Promise<T>): Promise<T> {
    const tries = new Tries(this.#options, signal);
    for (;;) {
      try {
        return await operation();
      } catch (error) {
        await tries.failed(error);
      }
    }
  }
}

/** Counts the failures of one operation and waits between them. */
class Tries {
  readonly #options: RetryOptions;
  readonly #signal: AbortSignal | undefined;
  #failed = 0;
  #since = 0;

  constructor(options: RetryOptions, signal: AbortSignal | undefined) {
    this.#options = options;
    this.#signal = signal;
  }

  progress(amount: number, enough: number): void {
    this.#since += amount;
    if (this.#since >= enough) this.#failed = 0;
  }

  /** Returns when it is time to try again; throws when it is not worth it, not allowed, or the caller has left. */
  async failed(error: unknown): Promise<void> {
    const signal = this.#signal;
    if (!isRetryable(error)) throw error;
    if (signal?.aborted) throw cancelled(error.op ?? 'store', error.object ?? '', signal);
    this.#failed += 1;
    this.#since = 0;
    if (this.#failed >= this.#options.tries) throw gaveUp(error, this.#failed);
    const waitMs = backoffMs(this.#failed - 1, this.#options.backoff, this.#options.random);
    this.#options.onRetry?.({ error, failed: this.#failed, waitMs });
    try {
      await sleep(waitMs, { signal });
    } catch (reason) {
      throw signal === undefined ? reason : cancelled(error.op ?? 'store', error.object ?? '', signal);
    }
  }
}

function isRetryable(error: unknown): error is BackupError {
  return isBackupError(error, 'UNAVAILABLE') || isBackupError(error, 'TIMEOUT');
}

function gaveUp(error: BackupError, tries: number): BackupError {
  const { op, object, hint, code, message } = error;
  const known = [op, object].filter((part) => part !== undefined).join(': ');
  const what = message.startsWith(`${known}: `) ? message.slice(known.length + 2) : message;
  return new BackupError(code, `${what}; gave up after ${tries} tries`, {
    ...(op === undefined ? {} : { op }),
    ...(object === undefined ? {} : { object }),
    ...(hint === undefined ? {} : { hint }),
    cause: error,
  });
}
