/**
 * Results in the store, `v2/verified/…`, for runs on machines that keep nothing. Objects never change, so the results
 * are written as a new object at the end of a run, and those before it are deleted. Whoever can write the store can
 * write these, too: they save reading, they prove nothing against an attacker.
 */
import { randomBytes } from 'node:crypto';
import { promisify } from 'node:util';
import { gunzip, gzip } from 'node:zlib';
import { isBackupError } from '../errors.js';
import { verifiedKey } from '../store/layout.js';
import { readSmall } from '../store/read.js';
import { MAX_PUT_BYTES, type Store } from '../store/store.js';
import type { Keeper } from './memory.js';
import { headerLine, parseLines, type Remembered, toLine } from './remembered.js';

const MAX_PLAIN_BYTES = 64 * 1024 * 1024;
/** In the store the location differs with who looks at it; the store itself is the place. */
const LOCATION = 'this store';

export interface StoredResultsOptions {
  /** As listed, ascending. */
  readonly keys: readonly string[];
  readonly onNote: (text: string) => void;
  readonly signal?: AbortSignal | undefined;
}

export class StoredResults implements Keeper {
  readonly #store: Store;
  readonly #options: StoredResultsOptions;
  readonly #old: Set<string>;
  #entries: Remembered[] = [];
  #changed = false;

  constructor(store: Store, options: StoredResultsOptions) {
    this.#store = store;
    this.#options = options;
    this.#old = new Set(options.keys);
  }

  async load(): Promise<readonly Remembered[]> {
    const newest = this.#options.keys.at(-1);
    if (newest === undefined) return [];
    const { signal, onNote } = this.#options;
    try {
      const packed = await readSmall(this.#store, newest, { maxBytes: MAX_PUT_BYTES, signal });
      const plain = await promisify(gunzip)(packed, { maxOutputLength: MAX_PLAIN_BYTES });
      this.#entries = [...parseLines(plain.toString('utf8'), LOCATION).entries];
    } catch (error) {
      if (signal?.aborted || isBackupError(error, 'CANCELLED')) throw error;
      onNote(`results remembered in the store are not used: ${(error as Error).message}`);
    }
    return this.#entries;
  }

  async append(entry: Remembered): Promise<void> {
    this.#entries.push(entry);
    this.#changed = true;
  }

  async replace(entries: readonly Remembered[]): Promise<void> {
    this.#entries = [...entries];
    this.#changed = true;
  }

  /** At the end of a run, also of one that is stopped: so without its signal. */
  async write(nowMs: number): Promise<void> {
    if (!this.#changed) return;
    try {
      const key = verifiedKey(nowMs, randomBytes(8).toString('hex'));
      const text = headerLine(LOCATION) + this.#entries.map(toLine).join('');
      await this.#store.putBytes(key, await promisify(gzip)(text));
      for (const old of this.#old) await this.#store.delete(old);
    } catch (error) {
      this.#options.onNote(`results are not remembered in the store: ${(error as Error).message}`);
    }
  }
}
