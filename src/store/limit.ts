/**
 * At most so many operations at a time. A `get` counts from its first chunk to its end, so who reads one object
 * while holding another needs a limit of two. A listing takes no slot: it is one request at a time by itself, and
 * its consumer must be able to get what it lists.
 */
import { Semaphore } from '../base/semaphore.js';
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

export class LimitedStore implements Store {
  readonly location: string;
  readonly #store: Store;
  readonly #slots: Semaphore;

  constructor(store: Store, options: { readonly operations: number }) {
    this.location = store.location;
    this.#store = store;
    this.#slots = new Semaphore(options.operations);
  }

  list(prefix: string, options: ListOptions = {}): AsyncIterable<StoredObject> {
    return this.#store.list(prefix, options);
  }

  head(key: string, options: StoreOptions = {}): Promise<ObjectHead> {
    return this.#run('store head', key, options, () => this.#store.head(key, options));
  }

  async *get(key: string, options: GetOptions = {}): AsyncGenerator<Uint8Array> {
    const release = await this.#enter('store get', key, options);
    try {
      yield* this.#store.get(key, options);
    } finally {
      release();
    }
  }

  putFile(key: string, path: string, options: PutFileOptions): Promise<PutResult> {
    return this.#run('store put', key, options, () => this.#store.putFile(key, path, options));
  }

  putBytes(key: string, content: Uint8Array, options: StoreOptions = {}): Promise<PutResult> {
    return this.#run('store put', key, options, () => this.#store.putBytes(key, content, options));
  }

  delete(key: string, options: StoreOptions = {}): Promise<void> {
    return this.#run('store delete', key, options, () => this.#store.delete(key, options));
  }

  cleanUp(prefix: string, options: StoreOptions = {}): Promise<CleanUpResult> {
    return this.#run('store clean-up', prefix, options, () => this.#store.cleanUp(prefix, options));
  }

  async #run<T>(op: string, key: string, options: StoreOptions, operation: () => Promise<T>): Promise<T> {
    const release = await this.#enter(op, key, options);
    try {
      return await operation();
    } finally {
      release();
    }
  }

  async #enter(op: string, key: string, { signal }: StoreOptions): Promise<() => void> {
    try {
      return await this.#slots.acquire(1, { signal });
    } catch (error) {
      throw signal?.aborted === true ? cancelled(op, key, signal) : error;
    }
  }
}
