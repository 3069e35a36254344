/**
 * Objects of one store, each read through at most once, several at a time; from memory where that is enough. Bounded:
 * fulls at a time, objects at a time, and what they take on disk.
 */
import { deriveAbort } from '../base/abort.js';
import { Semaphore } from '../base/semaphore.js';
import type { Catalog } from '../pipeline/catalog.js';
import type { StoredSnapshot } from '../snapshot/plan.js';
import type { Store } from '../store/store.js';
import type { Memory } from './memory.js';
import type { ObjectVerdict, Totals } from './verdict.js';
import { readThrough, recall, toRemember } from './verify-object.js';

export interface ObjectReaderOptions {
  readonly store: Store;
  readonly catalog: Catalog;
  readonly memory: Memory;
  /** Private, on local disk. */
  readonly workDir: string;
  readonly maxVerifiers: number;
  readonly signal?: AbortSignal | undefined;
  readonly onVerdict?: ((verdict: ObjectVerdict) => void) | undefined;
  readonly onProgress?: ((doneBytes: number, totalBytes: number) => void) | undefined;
}

/** Each holds its plain database on disk while it is checked, and some 80 MB of memory. */
const FULLS_AT_A_TIME = 2;
/** Of objects and what they unpack to; a larger one goes alone. What `--deep` keeps for a comparison comes on top. */
const MAX_DISK_BYTES = 8 * 1024 ** 3;
/** A full without a manifest does not say what it unpacks to. */
const GUESSED_RATIO = 6;

export class ObjectReader {
  readonly #startedMs = performance.now();
  readonly #options: ObjectReaderOptions;
  readonly #fulls = new Semaphore(FULLS_AT_A_TIME);
  readonly #disk = new Semaphore(MAX_DISK_BYTES);
  readonly #verdicts = new Map<string, ObjectVerdict>();
  readonly #gone = new Set<string>();
  /** Bytes of objects that are being read, by name, as far as they are. */
  readonly #reading = new Map<string, number>();
  #doneBytes = 0;
  #totalBytes = 0;
  #readObjects = 0;

  constructor(options: ObjectReaderOptions) {
    this.#options = options;
  }

  get verdicts(): ReadonlyMap<string, ObjectVerdict> {
    return this.#verdicts;
  }

  get gone(): readonly string[] {
    return [...this.#gone];
  }

  /** Whether an earlier run found it sound; then that is its verdict. */
  recall(object: StoredSnapshot): boolean {
    if (this.#verdicts.has(object.name.text)) return true;
    const known = recall(object, this.#options.memory);
    if (known !== undefined) this.#tell(known);
    return known !== undefined;
  }

  /** What is to be read, before it is: for the progress. */
  announce(objects: readonly StoredSnapshot[]): void {
    this.#totalBytes += objects.reduce((sum, { bytes }) => sum + bytes, 0);
  }

  /** In order, each of the workers taking the next; the first that fails stops the others. */
  async readAll(
    objects: readonly StoredSnapshot[],
    keepAt?: (object: StoredSnapshot) => string,
  ): Promise<void> {
    const derived = deriveAbort(this.#options.signal);
    const rest = objects.values();
    const work = async () => {
      for (const object of rest) await this.#readOne(object, keepAt?.(object), derived.signal);
    };
    try {
      const workers = Array.from({ length: this.#options.maxVerifiers }, () =>
        work().catch((error: unknown) => {
          derived.abort(error);
          throw error;
        }),
      );
      const failed = (await Promise.allSettled(workers)).find(({ status }) => status === 'rejected');
      if (failed !== undefined) throw derived.signal.reason;
    } finally {
      derived.dispose();
    }
  }

  totals(): Totals {
    let bytes = 0;
    for (const verdict of this.#verdicts.values()) bytes += verdict.bytes;
    return {
      ...{ objects: this.#verdicts.size, bytes },
      ...{ readObjects: this.#readObjects, readBytes: this.#doneBytes },
      elapsedMs: performance.now() - this.#startedMs,
    };
  }

  async #readOne(object: StoredSnapshot, keepAt: string | undefined, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    const { store, workDir, catalog } = this.#options;
    const { text, kind } = object.name;
    const releaseFull = kind === 'full' ? await this.#fulls.acquire(1, { signal }) : undefined;
    try {
      const onProgress = (share: number) => this.#report(text, Math.round(object.bytes * share));
      const manifestUnread = catalog.manifests.unread.has(text);
      const read = () => readThrough(store, object, { workDir, manifestUnread, keepAt, signal, onProgress });
      await this.#take(object, await this.#disk.run(diskBytes(object), read, { signal }));
    } finally {
      releaseFull?.();
    }
  }

  async #take(object: StoredSnapshot, verdict: ObjectVerdict | undefined): Promise<void> {
    const { text } = object.name;
    if (verdict === undefined) {
      this.#gone.add(text);
      this.#verdicts.delete(text);
    } else {
      const entry = toRemember(object, verdict);
      if (entry !== undefined) await this.#options.memory.add(entry);
      this.#tell(verdict);
    }
    this.#reading.delete(text);
    this.#doneBytes += object.bytes;
    this.#readObjects += 1;
    this.#report();
  }

  #tell(verdict: ObjectVerdict): void {
    this.#verdicts.set(verdict.object, verdict);
    this.#options.onVerdict?.(verdict);
  }

  #report(name?: string, bytes = 0): void {
    if (name !== undefined) this.#reading.set(name, bytes);
    const reading = [...this.#reading.values()].reduce((sum, one) => sum + one, 0);
    this.#options.onProgress?.(this.#doneBytes + reading, this.#totalBytes);
  }
}

function diskBytes({ name, bytes, manifest }: StoredSnapshot): number {
  if (name.kind === 'delta') return bytes;
  return bytes + (manifest?.plain?.bytes ?? bytes * (name.codec === 'none' ? 1 : GUESSED_RATIO));
}
