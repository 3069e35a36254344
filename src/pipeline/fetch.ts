/**
 * Deltas ahead of their consumer, in order. A window, bounded in objects and in bytes, covers everything from the
 * start of a fetch until its delta is consumed. Room is given in order, so the delta that is waited for always has
 * its own, and nothing that comes later can keep it from arriving: no deadlock, no reordering.
 */
import { setMaxListeners } from 'node:events';
import { rm, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type DerivedAbort, deriveAbort, raceAbort } from '../base/abort.js';
import { type Release, Semaphore } from '../base/semaphore.js';
import { BackupError } from '../errors.js';
import type { StoredSnapshot } from '../snapshot/plan.js';
import type { StoreSettings } from '../store/registry.js';
import { type FetchPool, unwrap } from './pool.js';
import type { FetchObject, PreparedDelta } from './task.js';

export interface FetchSource {
  readonly pool: FetchPool;
  readonly settings: StoreSettings;
  /** Private directory on local disk. */
  readonly workDir: string;
}

export interface FetchOptions {
  readonly signal?: AbortSignal | undefined;
  /** Bytes of all objects so far. */
  readonly onProgress?: ((bytes: number) => void) | undefined;
}

export interface WindowOptions extends FetchOptions {
  /** Bytes of objects in the window; a larger object goes alone. Objects: the pool's `maxFetchers`. */
  readonly maxInflightBytes: number;
}

/** Larger objects are fetched in ranges of this size, several at a time. */
export const RANGE_BYTES = 64 * 1024 * 1024;

interface Slot {
  readonly delta: Promise<PreparedDelta>;
  readonly release: Release;
}

/** Fetches begin at once; iterate it once, or close it. */
export class DeltaStream implements AsyncIterable<PreparedDelta> {
  readonly #objects: readonly StoredSnapshot[];
  readonly #window: DeltaWindow;
  readonly #slots: AsyncIterator<Slot>;

  constructor(source: FetchSource, objects: readonly StoredSnapshot[], options: WindowOptions) {
    this.#objects = objects;
    this.#window = new DeltaWindow(source, options);
    this.#slots = this.#window.fill(objects);
  }

  /** Each file is removed when the next delta is asked for; leaving early stops and removes everything. */
  async *[Symbol.asyncIterator](): AsyncGenerator<PreparedDelta> {
    const window = this.#window;
    try {
      for (const _ of this.#objects) {
        const { value } = await window.orFailure(this.#slots.next());
        const slot = value as Slot;
        const delta = await window.orFailure(slot.delta);
        try {
          yield delta;
        } finally {
          await rm(delta.path, { force: true });
          slot.release();
        }
      }
    } finally {
      await window.close();
    }
  }

  /** Stops what is on its way and removes what has arrived. */
  close(): Promise<void> {
    return this.#window.close();
  }
}

class DeltaWindow {
  readonly #source: FetchSource;
  readonly #options: WindowOptions;
  readonly #objects: Semaphore;
  readonly #bytes: Semaphore;
  readonly #derived: DerivedAbort;
  readonly #jobs = new Set<Promise<PreparedDelta>>();
  readonly #progress = new Map<number, number>();

  constructor(source: FetchSource, options: WindowOptions) {
    this.#source = source;
    this.#options = options;
    this.#objects = new Semaphore(source.pool.maxFetchers);
    this.#bytes = new Semaphore(options.maxInflightBytes);
    this.#derived = deriveAbort(options.signal);
    // One listener for each fetch in the window, and no leak.
    setMaxListeners(0, this.#derived.signal);
  }

  /** Starts fetches as room comes free, ahead of whoever reads the slots. */
  fill(objects: readonly StoredSnapshot[]): AsyncIterator<Slot> {
    const slots: Promise<Slot>[] = [];
    let before: Promise<unknown> = Promise.resolve();
    for (const [index, object] of objects.entries()) {
      const slot = before.then(() => this.#admit(object, index));
      slot.catch(() => undefined);
      slots.push(slot);
      before = slot;
    }
    return (async function* () {
      for (const slot of slots) yield await slot;
    })();
  }

  /** A delta that fails ends the run at once, also while earlier ones are still on their way. */
  async orFailure<T>(promise: Promise<T>): Promise<T> {
    return raceAbort(promise, this.#derived.signal);
  }

  async close(): Promise<void> {
    this.#derived.abort(new BackupError('CANCELLED', 'the window was closed', { op: 'fetch' }));
    const left = await Promise.allSettled(this.#jobs);
    for (const job of left) if (job.status === 'fulfilled') await rm(job.value.path, { force: true });
    this.#derived.dispose();
  }

  async #admit(object: StoredSnapshot, index: number): Promise<Slot> {
    const { signal } = this.#derived;
    const releaseObject = await this.#objects.acquire(1, { signal });
    const releaseBytes = await this.#bytes.acquire(object.bytes, { signal });
    const delta = this.#fetch(object, index);
    this.#jobs.add(delta);
    delta.catch((error) => this.#derived.abort(error));
    const release = () => {
      this.#jobs.delete(delta);
      releaseBytes();
      releaseObject();
    };
    return { delta, release };
  }

  async #fetch(object: StoredSnapshot, index: number): Promise<PreparedDelta> {
    const { pool, settings, workDir } = this.#source;
    const path = join(workDir, `${String(index).padStart(8, '0')}-${object.name.text}`);
    const answer = await pool.run(
      { kind: 'delta', settings, object: toFetchObject(object), path, range: undefined },
      { signal: this.#derived.signal, onProgress: (bytes) => this.#report(index, bytes) },
    );
    const delta = unwrap(answer);
    if (delta === undefined) throw new BackupError('INTERNAL', 'a worker gave no delta', { op: 'fetch' });
    return delta;
  }

  #report(index: number, bytes: number): void {
    this.#progress.set(index, bytes);
    this.#options.onProgress?.([...this.#progress.values()].reduce((sum, each) => sum + each, 0));
  }
}

export interface FileOptions extends FetchOptions {
  readonly rangeBytes?: number;
  /** Bytes that are there without a hole, from the front; first called, with 0, when the file is there. */
  readonly onFront?: ((bytes: number) => void) | undefined;
}

/** One object into the new file `path`, in ranges when it is large. Removed on failure. */
export async function fetchFile(
  { pool, settings }: Pick<FetchSource, 'pool' | 'settings'>,
  object: StoredSnapshot,
  path: string,
  options: FileOptions = {},
): Promise<void> {
  const ranges = rangesOf(object.bytes, options.rangeBytes ?? RANGE_BYTES);
  const done = ranges.map(() => 0);
  const slots = new Semaphore(pool.maxFetchers);
  const derived = deriveAbort(options.signal);
  setMaxListeners(0, derived.signal);
  const fetchRange = (range: { offset: number; bytes: number }, index: number) =>
    slots.run(
      1,
      async () => {
        const onProgress = (bytes: number) => {
          done[index] = bytes;
          options.onProgress?.(done.reduce((sum, each) => sum + each, 0));
          options.onFront?.(frontOf(ranges, done));
        };
        const task = { kind: 'range', settings, object: toFetchObject(object), path, range } as const;
        unwrap(await pool.run(task, { signal: derived.signal, onProgress }));
      },
      { signal: derived.signal },
    );
  try {
    await writeFile(path, '', { flag: 'wx', mode: 0o600 });
    await truncate(path, object.bytes);
    options.onFront?.(0);
    const jobs = ranges.map((range, index) =>
      fetchRange(range, index).catch((error) => {
        derived.abort(error);
        throw error;
      }),
    );
    await Promise.allSettled(jobs);
    derived.signal.throwIfAborted();
  } catch (error) {
    await rm(path, { force: true });
    throw error;
  } finally {
    derived.dispose();
  }
}

/** The end of the first range that is not complete yet. */
function frontOf(ranges: readonly { readonly bytes: number }[], done: readonly number[]): number {
  let front = 0;
  for (const [index, { bytes }] of ranges.entries()) {
    front += done[index] ?? 0;
    if (done[index] !== bytes) break;
  }
  return front;
}

function rangesOf(bytes: number, rangeBytes: number): { offset: number; bytes: number }[] {
  const count = Math.ceil(bytes / rangeBytes);
  return Array.from({ length: count }, (_, index) => ({
    offset: index * rangeBytes,
    bytes: Math.min(rangeBytes, bytes - index * rangeBytes),
  }));
}

function toFetchObject({ key, bytes, name, manifest }: StoredSnapshot): FetchObject {
  const { text, codec, start, last } = name;
  return { key, name: text, bytes, codec, start, last, sha256: manifest?.sha256 };
}
