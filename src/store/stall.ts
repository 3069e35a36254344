/**
 * Ends an operation that makes no progress for too long with TIMEOUT, which `retry.ts` then repeats. There is no
 * limit on the whole of a transfer: a large object over a slow line takes as long as it takes. Time that the
 * consumer of a stream takes does not count.
 */
import { type DerivedAbort, deriveAbort, MAX_TIMER_MS, onAbort, raceAbort } from '../base/abort.js';
import { type Limit, startWatchdog } from '../base/watchdog.js';
import { BackupError } from '../errors.js';
import { cancelled } from './cancel.js';
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

export const DEFAULT_SILENCE_MS = 120_000;

/** An operation is ended at most this fraction of the limit too late. */
const LOOKS_PER_LIMIT = 8;

export class StallGuardedStore implements Store {
  readonly location: string;
  readonly #store: Store;
  readonly #silenceMs: number;

  constructor(store: Store, options: { readonly silenceMs: number } = { silenceMs: DEFAULT_SILENCE_MS }) {
    this.location = store.location;
    this.#store = store;
    this.#silenceMs = options.silenceMs;
  }

  list(prefix: string, options: ListOptions = {}): AsyncIterable<StoredObject> {
    return this.#stream('store list', prefix, options, (signal) =>
      this.#store.list(prefix, { ...options, signal }),
    );
  }

  get(key: string, options: GetOptions = {}): AsyncIterable<Uint8Array> {
    return this.#stream('store get', key, options, (signal) => this.#store.get(key, { ...options, signal }));
  }

  head(key: string, options: StoreOptions = {}): Promise<ObjectHead> {
    return this.#call('store head', key, options, (signal) => this.#store.head(key, { ...options, signal }));
  }

  putFile(key: string, path: string, options: PutFileOptions): Promise<PutResult> {
    return this.#call('store put', key, options, (signal, progress) => {
      const onProgress = (bytes: number) => {
        progress();
        options.onProgress?.(bytes);
      };
      return this.#store.putFile(key, path, { ...options, signal, onProgress });
    });
  }

  putBytes(key: string, content: Uint8Array, options: StoreOptions = {}): Promise<PutResult> {
    const put = (signal: AbortSignal) => this.#store.putBytes(key, content, { ...options, signal });
    return this.#call('store put', key, options, put);
  }

  delete(key: string, options: StoreOptions = {}): Promise<void> {
    const remove = (signal: AbortSignal) => this.#store.delete(key, { ...options, signal });
    return this.#call('store delete', key, options, remove);
  }

  cleanUp(prefix: string, options: StoreOptions = {}): Promise<CleanUpResult> {
    const cleanUp = (signal: AbortSignal) => this.#store.cleanUp(prefix, { ...options, signal });
    return this.#call('store clean-up', prefix, options, cleanUp);
  }

  async #call<T>(
    op: string,
    key: string,
    options: StoreOptions,
    call: (signal: AbortSignal, progress: () => void) => Promise<T>,
  ): Promise<T> {
    const watchdog = startWatchdog(this.#limit(op, key, options));
    try {
      return await raceAbort(call(watchdog.signal, watchdog.progress), watchdog.signal);
    } catch (error) {
      throw error === watchdog.signal.reason ? cancelled(op, key, watchdog.signal) : error;
    } finally {
      watchdog.dispose();
    }
  }

  async *#stream<T>(
    op: string,
    key: string,
    options: StoreOptions,
    open: (signal: AbortSignal) => AsyncIterable<T>,
  ): AsyncGenerator<T> {
    const limit = this.#limit(op, key, options);
    const waits = new GuardedWaits(limit);
    const items = open(waits.signal)[Symbol.asyncIterator]();
    let done = false;
    try {
      for (;;) {
        const next = await waits.on(items.next());
        if (next.done === true) break;
        yield next.value;
      }
      done = true;
    } catch (error) {
      const { signal } = options;
      throw signal?.aborted === true && error === signal.reason ? cancelled(op, key, signal) : error;
    } finally {
      if (!done) {
        waits.abandon();
        // Not awaited: what hangs cannot be waited for.
        items.return?.().catch(() => undefined);
      }
      waits.dispose();
    }
  }

  #limit(op: string, key: string, { signal }: StoreOptions): Limit {
    const reason = () =>
      new BackupError('TIMEOUT', `no progress for ${this.#silenceMs / 1000} s`, {
        op,
        object: key,
        hint: 'check the connection to the store; this is tried again',
      });
    return { ms: this.#silenceMs, reason, signal };
  }
}

/**
 * Many waits, one after the other, each of them with the same limit: one timer and one listener for all of them,
 * since a listing waits half a million times.
 */
class GuardedWaits {
  readonly #abort: DerivedAbort;
  readonly #timer: NodeJS.Timeout;
  readonly #unhook: () => void;
  #sinceMs: number | undefined;
  #reject: ((reason: unknown) => void) | undefined;

  constructor(limit: Limit) {
    this.#abort = deriveAbort(limit.signal);
    this.#unhook = onAbort(this.#abort.signal, (reason) => this.#reject?.(reason));
    const look = () => {
      if (this.#sinceMs === undefined || performance.now() - this.#sinceMs < limit.ms) return;
      this.#abort.abort(limit.reason());
    };
    this.#timer = setInterval(look, Math.min(Math.max(limit.ms / LOOKS_PER_LIMIT, 1), MAX_TIMER_MS));
    this.#timer.unref();
  }

  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  /** The promise's outcome, or the reason of an abort or a timeout if that comes first. */
  on<T>(promise: Promise<T>): Promise<T> {
    const { signal } = this.#abort;
    this.#sinceMs = performance.now();
    return new Promise<T>((resolve, reject) => {
      this.#reject = reject;
      if (signal.aborted) reject(signal.reason);
      promise.then(resolve, reject);
    }).finally(() => {
      this.#sinceMs = undefined;
      this.#reject = undefined;
    });
  }

  abandon(): void {
    this.#abort.abort(new Error('the stream was left'));
  }

  dispose(): void {
    clearInterval(this.#timer);
    this.#unhook();
    this.#abort.dispose();
  }
}
