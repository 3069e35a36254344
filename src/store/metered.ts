/** Tells a sink about every operation and every byte. It knows no metric names: those are `src/metrics`' own. */
import { type ErrorCode, isBackupError } from '../errors.js';
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

export type StoreOperation = 'list' | 'head' | 'get' | 'put' | 'delete' | 'cleanUp';

/** `left`: the consumer of a stream did not want the rest. */
export type StoreOutcome = 'ok' | 'left' | ErrorCode;

export interface StoreSink {
  /**
   * Once per operation, when it ends. `durationMs` is the time that the store took, without that of the consumer;
   * `bytes` were read (get) or stored (put), as far as it came.
   */
  operation(event: {
    readonly operation: StoreOperation;
    readonly outcome: StoreOutcome;
    readonly durationMs: number;
    readonly bytes: number;
  }): void;
}

export class MeteredStore implements Store {
  readonly location: string;
  readonly #store: Store;
  readonly #sink: StoreSink;

  constructor(store: Store, sink: StoreSink) {
    this.location = store.location;
    this.#store = store;
    this.#sink = sink;
  }

  list(prefix: string, options: ListOptions = {}): AsyncIterable<StoredObject> {
    return this.#stream('list', this.#store.list(prefix, options), () => 0);
  }

  get(key: string, options: GetOptions = {}): AsyncIterable<Uint8Array> {
    return this.#stream('get', this.#store.get(key, options), (chunk) => chunk.length);
  }

  head(key: string, options: StoreOptions = {}): Promise<ObjectHead> {
    return this.#call('head', () => this.#store.head(key, options));
  }

  putFile(key: string, path: string, options: PutFileOptions): Promise<PutResult> {
    let stored = 0;
    const onProgress = (bytes: number) => {
      stored = bytes;
      options.onProgress?.(bytes);
    };
    const put = () => this.#store.putFile(key, path, { ...options, onProgress });
    return this.#call('put', put, () => stored);
  }

  putBytes(key: string, content: Uint8Array, options: StoreOptions = {}): Promise<PutResult> {
    const put = () => this.#store.putBytes(key, content, options);
    return this.#call('put', put, (result) => (result?.existed === false ? content.length : 0));
  }

  delete(key: string, options: StoreOptions = {}): Promise<void> {
    return this.#call('delete', () => this.#store.delete(key, options));
  }

  cleanUp(prefix: string, options: StoreOptions = {}): Promise<CleanUpResult> {
    return this.#call('cleanUp', () => this.#store.cleanUp(prefix, options));
  }

  async #call<T>(
    operation: StoreOperation,
    call: () => Promise<T>,
    bytesOf: (result: T | undefined) => number = () => 0,
  ): Promise<T> {
    const startMs = performance.now();
    let result: T | undefined;
    let outcome: StoreOutcome = 'ok';
    try {
      result = await call();
      return result;
    } catch (error) {
      outcome = outcomeOf(error);
      throw error;
    } finally {
      this.#sink.operation({
        operation,
        outcome,
        durationMs: performance.now() - startMs,
        bytes: bytesOf(result),
      });
    }
  }

  async *#stream<T>(
    operation: StoreOperation,
    stream: AsyncIterable<T>,
    bytesOf: (item: T) => number,
  ): AsyncGenerator<T> {
    let bytes = 0;
    let durationMs = 0;
    let outcome: StoreOutcome = 'left';
    let askedAt = performance.now();
    try {
      for await (const item of stream) {
        durationMs += performance.now() - askedAt;
        bytes += bytesOf(item);
        yield item;
        askedAt = performance.now();
      }
      durationMs += performance.now() - askedAt;
      outcome = 'ok';
    } catch (error) {
      durationMs += performance.now() - askedAt;
      outcome = outcomeOf(error);
      throw error;
    } finally {
      this.#sink.operation({ operation, outcome, durationMs, bytes });
    }
  }
}

function outcomeOf(error: unknown): ErrorCode {
  return isBackupError(error) ? error.code : 'INTERNAL';
}
