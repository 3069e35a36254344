/**
 * A true store in memory: the default double of tests, and the yardstick of the conformance suite. It lists page by
 * page as providers do, so that what consumers see while others put and delete is the same.
 */
import { constants, open } from 'node:fs/promises';
import { BackupError } from '../errors.js';
import { throwIfCancelled } from './cancel.js';
import { checkPutBytes, checkPutFile, checkRange, rangeWithin, sha256Of } from './checks.js';
import { checkKey, checkPrefix, compareKeys, isBelow, sortKeys } from './key.js';
import {
  type CleanUpResult,
  type GetOptions,
  type ListOptions,
  MAX_CHUNK_BYTES,
  type ObjectHead,
  type PutFileOptions,
  type PutResult,
  type Store,
  type StoredObject,
  type StoreOptions,
} from './store.js';

const PAGE_KEYS = 1000;

export interface MemoryStoreOptions {
  readonly pageKeys?: number;
  readonly chunkBytes?: number;
  readonly now?: () => number;
}

interface Held {
  readonly content: Uint8Array;
  readonly head: ObjectHead;
}

export class MemoryStore implements Store {
  readonly location = 'memory';
  readonly #objects = new Map<string, Held>();
  readonly #pageKeys: number;
  readonly #chunkBytes: number;
  readonly #now: () => number;
  /** All keys in order; undefined after a change. */
  #sorted: string[] | undefined;

  constructor(options: MemoryStoreOptions = {}) {
    this.#pageKeys = options.pageKeys ?? PAGE_KEYS;
    this.#chunkBytes = Math.min(options.chunkBytes ?? 64 * 1024, MAX_CHUNK_BYTES);
    this.#now = options.now ?? Date.now;
  }

  async *list(prefix: string, options: ListOptions = {}): AsyncGenerator<StoredObject> {
    checkPrefix('store list', prefix);
    const top = prefix === '' ? '' : `${prefix}/`;
    let after = options.after ?? '';
    for (;;) {
      throwIfCancelled('store list', prefix, options.signal);
      const page = await this.#page(top, after);
      for (const key of page) {
        throwIfCancelled('store list', prefix, options.signal);
        const held = this.#objects.get(key);
        if (held !== undefined) yield { key, bytes: held.head.bytes, modifiedMs: held.head.modifiedMs };
      }
      const last = page.at(-1);
      if (last === undefined) return;
      after = last;
    }
  }

  async head(key: string, options: StoreOptions = {}): Promise<ObjectHead> {
    return this.#held('store head', key, options).head;
  }

  async *get(key: string, options: GetOptions = {}): AsyncGenerator<Uint8Array> {
    const { content } = this.#held('store get', key, options);
    checkRange(key, options.range);
    const { start, end } = rangeWithin(content.length, options.range);
    for (let at = start; at < end; at += this.#chunkBytes) {
      throwIfCancelled('store get', key, options.signal);
      yield content.slice(at, Math.min(end, at + this.#chunkBytes));
    }
  }

  async putFile(key: string, path: string, options: PutFileOptions): Promise<PutResult> {
    checkKey('store put', key);
    checkPutFile(key, options);
    throwIfCancelled('store put', key, options.signal);
    const content = await readWhole(path, options);
    if (sha256Of(content) !== options.sha256) {
      throw new BackupError('CHECKSUM', 'the file does not have the stated sha256', {
        op: 'store put',
        object: path,
      });
    }
    return this.#place(key, content);
  }

  async putBytes(key: string, content: Uint8Array, options: StoreOptions = {}): Promise<PutResult> {
    checkKey('store put', key);
    checkPutBytes(key, content);
    throwIfCancelled('store put', key, options.signal);
    // A Buffer's own `slice` would share the caller's memory.
    return this.#place(key, new Uint8Array(content));
  }

  async delete(key: string, options: StoreOptions = {}): Promise<void> {
    checkKey('store delete', key);
    throwIfCancelled('store delete', key, options.signal);
    if (this.#objects.delete(key)) this.#sorted = undefined;
  }

  /** An interrupted put leaves nothing here. */
  async cleanUp(prefix: string, options: StoreOptions = {}): Promise<CleanUpResult> {
    checkPrefix('store clean-up', prefix);
    throwIfCancelled('store clean-up', prefix, options.signal);
    return { removed: 0, bytes: 0 };
  }

  /** Nothing is awaited between looking and placing: of concurrent puts exactly one wins. */
  #place(key: string, content: Uint8Array): PutResult {
    const sha256 = sha256Of(content);
    const there = this.#objects.get(key);
    if (there?.head.sha256 === sha256) return { existed: true };
    if (there !== undefined) {
      throw new BackupError('EXISTS', 'an object of this name has other content', {
        op: 'store put',
        object: key,
        hint: 'objects are never replaced; find out who else writes to this container and prefix',
      });
    }
    const head = { key, bytes: content.length, modifiedMs: this.#now(), sha256 };
    this.#objects.set(key, { content, head });
    this.#sorted = undefined;
    return { existed: false };
  }

  #held(op: string, key: string, options: StoreOptions): Held {
    checkKey(op, key);
    throwIfCancelled(op, key, options.signal);
    const held = this.#objects.get(key);
    if (held !== undefined) return held;
    throw new BackupError('NOT_FOUND', 'no such object', {
      op,
      object: key,
      hint: 'list the store to see what is there',
    });
  }

  async #page(top: string, after: string): Promise<string[]> {
    this.#sorted ??= sortKeys([...this.#objects.keys()]);
    const keys = this.#sorted;
    const from = firstAbove(keys, after, top);
    const page = keys.slice(from, from + this.#pageKeys);
    const end = page.findIndex((key) => top !== '' && !isBelow(key, top.slice(0, -1)));
    return end < 0 ? page : page.slice(0, end);
  }
}

/** Index of the first key that is above `after` and not below `top`. */
function firstAbove(keys: readonly string[], after: string, top: string): number {
  let low = 0;
  let high = keys.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    const key = keys[middle] ?? '';
    if (compareKeys(key, after) <= 0 || compareKeys(key, top) < 0) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Reads at most what was stated, so that a file that grows cannot fill the memory. */
async function readWhole(path: string, options: PutFileOptions): Promise<Uint8Array> {
  const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK).catch((error: unknown) => {
    const what = 'the file to be stored cannot be read';
    throw new BackupError('IO', what, { op: 'store put', object: path, cause: error });
  });
  try {
    const stats = await file.stat();
    if (stats.size !== options.bytes) {
      const what = `it holds ${stats.size} bytes, stated were ${options.bytes}`;
      throw new BackupError('TRUNCATED', what, { op: 'store put', object: path });
    }
    const content = new Uint8Array(options.bytes);
    for (let done = 0; done < content.length; ) {
      throwIfCancelled('store put', path, options.signal);
      const { bytesRead } = await file.read(
        content,
        done,
        Math.min(MAX_CHUNK_BYTES, content.length - done),
        done,
      );
      if (bytesRead === 0)
        throw new BackupError('TRUNCATED', 'it became shorter', { op: 'store put', object: path });
      done += bytesRead;
      options.onProgress?.(done);
    }
    throwIfCancelled('store put', path, options.signal);
    return content;
  } finally {
    await file.close();
  }
}
