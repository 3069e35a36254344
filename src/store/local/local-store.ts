/**
 * Objects as plain files below a directory, as the Go tool keeps them.
 *
 * A put writes a hidden file beside its target, syncs it, gives it its name by link(2), which refuses a name that
 * is taken, and syncs the directory. Files are 0600 and directories 0700. Digests are not kept.
 */
import type { Stats } from 'node:fs';
import { lstat, unlink } from 'node:fs/promises';
import { dirname } from 'node:path';
import { BackupError } from '../../errors.js';
import { throwIfCancelled } from '../cancel.js';
import { checkPutBytes, checkPutFile, sha256Of } from '../checks.js';
import { checkPrefix, compareKeys } from '../key.js';
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
} from '../store.js';
import { removeLeftBehind } from './clean-up.js';
import { errnoOf, localFault, localPutFault } from './faults.js';
import { listTree, WINDOW_NAMES } from './list.js';
import { type Content, isStored, type Link, publish, syncDirectory } from './publish.js';
import { readRange } from './read.js';
import { LocalRoot } from './root.js';
import { tempName } from './temp.js';
import { writeFromBytes, writeFromFile } from './write.js';

export interface LocalStoreOptions {
  /** Absolute path of <container>/<prefix>; made by the first put. */
  readonly root: string;
  /** Names of one directory held at a time while listing. */
  readonly windowNames?: number;
  /** Stands in for link(2) where a test wants a file system without it. */
  readonly makeLink?: Link;
}

export class LocalStore implements Store {
  readonly location: string;
  readonly #root: LocalRoot;
  readonly #windowNames: number;
  readonly #makeLink: Link | undefined;

  constructor(options: LocalStoreOptions) {
    this.#root = new LocalRoot(options.root);
    this.#windowNames = options.windowNames ?? WINDOW_NAMES;
    this.#makeLink = options.makeLink;
    this.location = `Local ${options.root}`;
  }

  async *list(prefix: string, options: ListOptions = {}): AsyncGenerator<StoredObject> {
    const directory = this.#directoryOf('store list', prefix);
    const top = prefix === '' ? '' : `${prefix}/`;
    const { after } = options;
    if (after !== undefined && !after.startsWith(top) && compareKeys(after, top) > 0) return;
    throwIfCancelled('store list', directory, options.signal);
    const context = { ...options, top, windowNames: this.#windowNames };
    for await (const batch of listTree(directory, top, context)) {
      for (const object of batch) {
        throwIfCancelled('store list', directory, options.signal);
        yield object;
      }
    }
  }

  async head(key: string, options: StoreOptions = {}): Promise<ObjectHead> {
    const op = 'store head';
    const path = this.#root.pathOf(op, key);
    throwIfCancelled(op, path, options.signal);
    const stats = await this.#statObject(op, key);
    return { key, bytes: stats.size, modifiedMs: Math.trunc(stats.mtimeMs), sha256: undefined };
  }

  async *get(key: string, options: GetOptions = {}): AsyncGenerator<Uint8Array> {
    const path = this.#root.pathOf('store get', key);
    throwIfCancelled('store get', path, options.signal);
    yield* readRange(await this.#root.existing('store get', key), options);
  }

  async putFile(key: string, path: string, options: PutFileOptions): Promise<PutResult> {
    checkPutFile(key, options);
    return this.#put(key, options, options.signal, (temp) => writeFromFile(temp, path, options));
  }

  async putBytes(key: string, content: Uint8Array, options: StoreOptions = {}): Promise<PutResult> {
    checkPutBytes(key, content);
    const stated = { bytes: content.length, sha256: sha256Of(content) };
    return this.#put(key, stated, options.signal, (temp) => writeFromBytes(temp, content));
  }

  async delete(key: string, options: StoreOptions = {}): Promise<void> {
    const op = 'store delete';
    const path = this.#root.pathOf(op, key);
    throwIfCancelled(op, path, options.signal);
    try {
      await this.#statObject(op, key);
      await unlink(path);
      await syncDirectory(dirname(path));
    } catch (error) {
      const fault = localFault(op, path, error);
      if (fault.code !== 'NOT_FOUND') throw fault;
    }
  }

  async cleanUp(prefix: string, options: StoreOptions = {}): Promise<CleanUpResult> {
    const directory = this.#directoryOf('store clean-up', prefix);
    throwIfCancelled('store clean-up', directory, options.signal);
    return removeLeftBehind(directory, options);
  }

  async #put(
    key: string,
    content: Content,
    signal: AbortSignal | undefined,
    write: (temp: string) => Promise<void>,
  ): Promise<PutResult> {
    throwIfCancelled('store put', this.#root.pathOf('store put', key), signal);
    const target = await this.#root.prepareParents(key);
    const directory = dirname(target);
    const temp = `${directory}/${tempName(target.slice(directory.length + 1))}`;
    try {
      const existed = await this.#place(temp, target, content, signal, write);
      await removeIfThere(temp);
      // Also when it existed: its writer may have been killed right before this.
      await syncDirectory(directory);
      return { existed };
    } catch (error) {
      await removeIfThere(temp);
      throw localPutFault(target, error);
    }
  }

  /** True when the object was there already. */
  async #place(
    temp: string,
    target: string,
    content: Content,
    signal: AbortSignal | undefined,
    write: (temp: string) => Promise<void>,
  ): Promise<boolean> {
    if (await isStored(target, content, signal)) return true;
    await write(temp);
    throwIfCancelled('store put', target, signal);
    if (await publish(temp, target, this.#makeLink)) return false;
    if (await isStored(target, content, signal)) return true;
    throw vanished(target);
  }

  async #statObject(op: string, key: string): Promise<Stats> {
    const path = await this.#root.existing(op, key);
    try {
      const stats = await lstat(path);
      if (stats.isFile()) return stats;
    } catch (error) {
      throw localFault(op, path, error);
    }
    throw new BackupError('NOT_FOUND', 'no such object: it is not a regular file', { op, object: path });
  }

  #directoryOf(op: string, prefix: string): string {
    checkPrefix(op, prefix);
    return prefix === '' ? this.#root.path : `${this.#root.path}/${prefix}`;
  }
}

/** Never hides the error that is under way; what cannot be removed now is left to `cleanUp`. */
async function removeIfThere(path: string): Promise<void> {
  await unlink(path).catch((error: unknown) => errnoOf(error));
}

function vanished(target: string): BackupError {
  return new BackupError('UNAVAILABLE', 'an object of this name appeared and was removed again', {
    op: 'store put',
    object: target,
    hint: 'this is tried again',
  });
}
