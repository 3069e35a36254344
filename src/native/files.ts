/** What Node's `fs` lacks. Mirrors crates/addon/src/files.rs. */
import * as binding from './binding.js';
import { call, callSync, type NativeOptions } from './call.js';

export type { FileDigest } from './binding.js';

/** An exclusive flock of an existing file, as etcd's bbolt takes it. */
export class FileLock {
  readonly #lock: binding.FileLock;

  private constructor(lock: binding.FileLock) {
    this.#lock = lock;
  }

  /** Does not wait: LOCKED names the holder. */
  static acquire(path: string): FileLock {
    return new FileLock(callSync('lock', path, () => new binding.FileLock(path)));
  }

  release(): void {
    this.#lock.release();
  }
}

/** Exchanges two paths of one file system in one step; UNSUPPORTED where the system cannot. */
export function exchangePaths(a: string, b: string): void {
  callSync('swap', a, () => binding.exchangePaths(a, b));
}

/** Makes everything below `path` survive a power failure. */
export function syncTree(path: string, options: NativeOptions = {}): Promise<void> {
  return call('sync', path, () => binding.syncTree(path), options);
}

/** Progress in bytes. */
export function hashFile(path: string, options: NativeOptions = {}): Promise<binding.FileDigest> {
  return call('digest', path, (control) => binding.hashFile(path, control), options);
}
