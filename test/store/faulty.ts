/**
 * A store that misbehaves as told: the double for retry, pipeline and hazard tests. Rules are tried in their order
 * and the first one that matches acts; a rule with `times` is used up. With a seed, `probability` is repeatable.
 */
import { deriveAbort, sleep } from '../../src/base/abort.js';
import { BackupError, type ErrorCode } from '../../src/errors.js';
import { cancelled, throwIfCancelled } from '../../src/store/cancel.js';
import type { StoreOperation } from '../../src/store/metered.js';
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
} from '../../src/store/store.js';
import { Random } from '../servers/random.js';

/** `atByte` counts from the object's beginning, ranges included; for listings it counts objects. */
export type Fault =
  /** Fails with this code, before anything happened or once so many bytes have passed. */
  | { readonly kind: 'error'; readonly code: ErrorCode; readonly atByte?: number }
  /** The operation is done, but its caller is told otherwise. */
  | { readonly kind: 'lostReply'; readonly code: ErrorCode }
  /** Nothing more comes, until the caller aborts. */
  | { readonly kind: 'hang'; readonly atByte?: number }
  /** Bodies come in chunks of at most so many bytes. */
  | { readonly kind: 'small'; readonly chunkBytes: number }
  /** So long before each operation and each chunk. */
  | { readonly kind: 'slow'; readonly delayMs: number }
  /** One bit of that byte is wrong. */
  | { readonly kind: 'flip'; readonly atByte: number }
  /** The body ends there without an error, which the contract forbids: for tests of those who check digests. */
  | { readonly kind: 'short'; readonly atByte: number };

export interface FaultRule {
  readonly on: StoreOperation | 'any';
  readonly key?: string | RegExp;
  readonly times?: number;
  readonly probability?: number;
  readonly fault: Fault;
}

export interface Injected {
  readonly operation: StoreOperation;
  readonly key: string;
  readonly fault: Fault;
}

export class FaultyStore implements Store {
  readonly location: string;
  /** Every fault that was put to work, in order. */
  readonly injected: Injected[] = [];
  /** Every operation that was begun, faulty or not: "get v2/Full-…". */
  readonly calls: string[] = [];
  readonly #store: Store;
  readonly #rules: { rule: FaultRule; left: number }[];
  readonly #random: Random;

  constructor(store: Store, rules: readonly FaultRule[], options: { readonly seed?: number } = {}) {
    this.location = store.location;
    this.#store = store;
    this.#rules = rules.map((rule) => ({ rule, left: rule.times ?? Number.POSITIVE_INFINITY }));
    this.#random = new Random(options.seed ?? 1);
  }

  async *list(prefix: string, options: ListOptions = {}): AsyncGenerator<StoredObject> {
    const fault = this.#draw('list', prefix);
    await this.#before(fault, 'list', prefix, options.signal);
    let seen = 0;
    for await (const object of this.#store.list(prefix, options)) {
      if (fault?.kind === 'slow') await delay(fault.delayMs, 'list', prefix, options.signal);
      if (isAt(fault, seen)) await act(fault, 'list', prefix, options.signal);
      yield object;
      seen += 1;
    }
    if (fault?.kind === 'lostReply') throw injectedError(fault.code, 'list', prefix);
  }

  async *get(key: string, options: GetOptions = {}): AsyncGenerator<Uint8Array> {
    const fault = this.#draw('get', key);
    await this.#before(fault, 'get', key, options.signal);
    let at = options.range?.offset ?? 0;
    for await (const chunk of this.#store.get(key, options)) {
      for (const part of cut(chunk, at, fault)) {
        if (fault?.kind === 'slow') await delay(fault.delayMs, 'get', key, options.signal);
        if (fault?.kind === 'short' && at >= fault.atByte) return;
        if (isAt(fault, at)) await act(fault, 'get', key, options.signal);
        yield fault?.kind === 'flip' ? flip(part, fault.atByte - at) : part;
        at += part.length;
      }
    }
  }

  async putFile(key: string, path: string, options: PutFileOptions): Promise<PutResult> {
    const fault = this.#draw('put', key);
    await this.#before(fault, 'put', key, options.signal);
    if (fault?.kind !== 'error' && fault?.kind !== 'hang') {
      return this.#after(fault, 'put', key, await this.#store.putFile(key, path, options));
    }
    const abort = deriveAbort(options.signal);
    const onProgress = (bytes: number) => {
      options.onProgress?.(bytes);
      if (bytes >= (fault.atByte ?? 0)) abort.abort(new Error('injected'));
    };
    try {
      return await this.#store.putFile(key, path, { ...options, onProgress, signal: abort.signal });
    } catch (error) {
      if (options.signal?.aborted === true || !abort.signal.aborted) throw error;
      return await act(fault, 'put', key, options.signal);
    } finally {
      abort.dispose();
    }
  }

  async putBytes(key: string, content: Uint8Array, options: StoreOptions = {}): Promise<PutResult> {
    return this.#simple('put', key, options, () => this.#store.putBytes(key, content, options));
  }

  async head(key: string, options: StoreOptions = {}): Promise<ObjectHead> {
    return this.#simple('head', key, options, () => this.#store.head(key, options));
  }

  async delete(key: string, options: StoreOptions = {}): Promise<void> {
    return this.#simple('delete', key, options, () => this.#store.delete(key, options));
  }

  async cleanUp(prefix: string, options: StoreOptions = {}): Promise<CleanUpResult> {
    return this.#simple('cleanUp', prefix, options, () => this.#store.cleanUp(prefix, options));
  }

  async #simple<T>(
    operation: StoreOperation,
    key: string,
    options: StoreOptions,
    call: () => Promise<T>,
  ): Promise<T> {
    const fault = this.#draw(operation, key);
    await this.#before(fault, operation, key, options.signal);
    if (isAt(fault, Number.POSITIVE_INFINITY)) await act(fault, operation, key, options.signal);
    return this.#after(fault, operation, key, await call());
  }

  #draw(operation: StoreOperation, key: string): Fault | undefined {
    this.calls.push(`${operation} ${key}`);
    for (const entry of this.#rules) {
      const { rule } = entry;
      if (entry.left <= 0 || (rule.on !== 'any' && rule.on !== operation) || !matches(rule.key, key))
        continue;
      if (rule.probability !== undefined && this.#random.next() >= rule.probability) continue;
      entry.left -= 1;
      this.injected.push({ operation, key, fault: rule.fault });
      return rule.fault;
    }
    return undefined;
  }

  async #before(
    fault: Fault | undefined,
    operation: StoreOperation,
    key: string,
    signal: AbortSignal | undefined,
  ): Promise<void> {
    throwIfCancelled(`store ${operation}`, key, signal);
    if (fault?.kind === 'slow') await delay(fault.delayMs, operation, key, signal);
    if ((fault?.kind === 'error' || fault?.kind === 'hang') && fault.atByte === undefined) {
      await act(fault, operation, key, signal);
    }
  }

  #after<T>(fault: Fault | undefined, operation: StoreOperation, key: string, result: T): T {
    if (fault?.kind === 'lostReply') throw injectedError(fault.code, operation, key);
    return result;
  }
}

type Stop = Extract<Fault, { kind: 'error' | 'hang' }>;

function isAt(fault: Fault | undefined, position: number): fault is Stop {
  return (fault?.kind === 'error' || fault?.kind === 'hang') && position >= (fault.atByte ?? 0);
}

async function act(
  fault: Stop,
  operation: StoreOperation,
  key: string,
  signal: AbortSignal | undefined,
): Promise<never> {
  if (fault.kind === 'error') throw injectedError(fault.code, operation, key);
  await new Promise<void>((resolve) => {
    if (signal?.aborted === true) resolve();
    else signal?.addEventListener('abort', () => resolve(), { once: true });
  });
  throw signal === undefined ? new Error('unreachable') : cancelled(`store ${operation}`, key, signal);
}

async function delay(
  delayMs: number,
  operation: StoreOperation,
  key: string,
  signal: AbortSignal | undefined,
): Promise<void> {
  try {
    await sleep(delayMs, { signal });
  } catch (error) {
    throw signal === undefined ? error : cancelled(`store ${operation}`, key, signal);
  }
}

function injectedError(code: ErrorCode, operation: StoreOperation, key: string): BackupError {
  return new BackupError(code, 'injected by the test', { op: `store ${operation}`, object: key });
}

function matches(wanted: string | RegExp | undefined, key: string): boolean {
  if (wanted === undefined) return true;
  return typeof wanted === 'string' ? wanted === key : wanted.test(key);
}

/** Pieces of a chunk such that a fault can stand exactly at its byte. */
function* cut(chunk: Uint8Array, at: number, fault: Fault | undefined): Generator<Uint8Array> {
  if (fault?.kind === 'small') {
    for (let from = 0; from < chunk.length; from += fault.chunkBytes) {
      yield chunk.subarray(from, from + fault.chunkBytes);
    }
    return;
  }
  const stop = fault !== undefined && 'atByte' in fault ? (fault.atByte ?? 0) - at : 0;
  if (stop > 0 && stop < chunk.length) {
    yield chunk.subarray(0, stop);
    yield chunk.subarray(stop);
  } else {
    yield chunk;
  }
}

function flip(part: Uint8Array, at: number): Uint8Array {
  if (at < 0 || at >= part.length) return part;
  const copy = new Uint8Array(part);
  copy[at] = (copy[at] ?? 0) ^ 1;
  return copy;
}
