/**
 * Objects of a store as files to be looked into: where they lie, if they lie here, else as a temporary copy. A store with
 * ranged reads may later give out less than the whole object behind the same two methods.
 */
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { OpenFull } from '../native/index.js';
import { download } from '../pipeline/download.js';
import type { StoredSnapshot } from '../snapshot/plan.js';
import { inPlacePath } from '../store/in-place.js';
import type { StoreSettings } from '../store/registry.js';
import type { Store } from '../store/store.js';

export interface ReadOptions {
  readonly signal?: AbortSignal | undefined;
}

export class ObjectFiles {
  readonly #store: Store;
  readonly #settings: StoreSettings;
  readonly #tempDir: string;
  readonly #fulls = new Map<string, OpenFull>();
  #workDir: string | undefined;

  constructor(store: Store, settings: StoreSettings, tempDir: string) {
    this.#store = store;
    this.#settings = settings;
    this.#tempDir = tempDir;
  }

  /** Opened once, however often it is asked for. */
  async full(object: StoredSnapshot, options: ReadOptions): Promise<OpenFull> {
    const name = object.name.text;
    const known = this.#fulls.get(name);
    if (known !== undefined) return known;
    const codec = object.name.codec === 'ebd' ? 'none' : object.name.codec;
    const path = await this.#pathOf(object, options);
    const full = await OpenFull.open(name, { path, codec, tempDir: this.#tempDir }, options);
    this.#fulls.set(name, full);
    return full;
  }

  /** The delta's file, while `use` runs. */
  async withDelta<T>(
    object: StoredSnapshot,
    options: ReadOptions,
    use: (path: string) => Promise<T>,
  ): Promise<T> {
    const path = await this.#pathOf(object, options);
    try {
      return await use(path);
    } finally {
      if (this.#workDir !== undefined && path.startsWith(this.#workDir)) await rm(path, { force: true });
    }
  }

  async close(): Promise<void> {
    if (this.#workDir !== undefined) await rm(this.#workDir, { recursive: true, force: true });
  }

  async #pathOf(object: StoredSnapshot, options: ReadOptions): Promise<string> {
    const here = await inPlacePath(this.#settings, object.key);
    if (here !== undefined) return here;
    this.#workDir ??= await this.#makeWorkDir();
    const path = join(this.#workDir, object.name.text);
    await download(this.#store, object, path, options);
    return path;
  }

  async #makeWorkDir(): Promise<string> {
    await mkdir(this.#tempDir, { recursive: true, mode: 0o700 });
    return mkdtemp(join(this.#tempDir, 'etcdbr-look-'));
  }
}
