/** Fills a hidden file with an object's content and brings it to disk; nothing is visible yet. */
import { createHash } from 'node:crypto';
import { chmod, constants, copyFile, type FileHandle, link, open } from 'node:fs/promises';
import { BackupError } from '../../errors.js';
import { throwIfCancelled } from '../cancel.js';
import type { PutFileOptions } from '../store.js';
import { errnoOf, sourceFault } from './faults.js';

const OP = 'store put';
const COPY_CHUNK_BYTES = 1024 * 1024;
/** Written data waiting for the disk never exceeds twice this: the last sync is short, a memory limit holds. */
const SYNC_EVERY_BYTES = 64 * 1024 * 1024;
const FILE_MODE = 0o600;

/** What `link` and a copy by reference answer where the file system, or the pair of them, has no such thing. */
const NOT_HERE = new Set(['EXDEV', 'EPERM', 'EOPNOTSUPP', 'ENOTSUP', 'ENOSYS', 'EINVAL', 'ENOTTY', 'EMLINK']);

/** Throws `BackupError` where the source is at fault, and the system's own error where the target is. */
export async function writeFromFile(temp: string, source: string, options: PutFileOptions): Promise<void> {
  const input = await open(source, constants.O_RDONLY | constants.O_NONBLOCK).catch((error: unknown) => {
    throw sourceFault(source, error);
  });
  try {
    await checkSize(input, source, options.bytes);
    if (options.mayTake === true && (await madeBy(() => link(source, temp)))) {
      await settle(temp);
      options.onProgress?.(options.bytes);
    } else {
      await copy(input, source, temp, options);
    }
  } finally {
    await input.close();
  }
}

export async function writeFromBytes(temp: string, content: Uint8Array): Promise<void> {
  await withNewFile(temp, async (output) => {
    await writeAll(output, content);
    await output.sync();
  });
}

/**
 * A copy by reference shares the blocks, but may be of a file that has changed since its digest was taken, so the
 * bytes are read for comparison all the same; what is saved is the writing.
 */
async function copy(input: FileHandle, source: string, temp: string, options: PutFileOptions): Promise<void> {
  const cloneOnly = constants.COPYFILE_FICLONE_FORCE | constants.COPYFILE_EXCL;
  if (await madeBy(() => copyFile(source, temp, cloneOnly))) {
    await settle(temp);
    await pass(input, source, undefined, options);
  } else {
    await withNewFile(temp, (output) => pass(input, source, output, options));
  }
}

/** Reads the source once, to its stated end, compares size and digest, and writes it where there is an output. */
async function pass(
  input: FileHandle,
  source: string,
  output: FileHandle | undefined,
  options: PutFileOptions,
): Promise<void> {
  const { bytes, sha256, signal, onProgress } = options;
  const chunk = Buffer.allocUnsafeSlow(COPY_CHUNK_BYTES);
  const digest = createHash('sha256');
  const syncer = output === undefined ? undefined : backgroundSync(output);
  for (let done = 0; done < bytes; ) {
    throwIfCancelled(OP, source, signal);
    const { bytesRead } = await input
      .read(chunk, 0, Math.min(chunk.length, bytes - done), done)
      .catch((error) => {
        throw sourceFault(source, error);
      });
    if (bytesRead === 0) throw sizeDiffers(source, done, bytes);
    const part = chunk.subarray(0, bytesRead);
    const written = output === undefined ? undefined : writeAll(output, part);
    // While the disk writes.
    digest.update(part);
    await written;
    done += bytesRead;
    await syncer?.written(bytesRead);
    onProgress?.(done);
  }
  await checkSize(input, source, bytes);
  const found = digest.digest('hex');
  if (found !== sha256) throw digestDiffers(source, found, sha256);
  await syncer?.end();
  throwIfCancelled(OP, source, signal);
}

/** Starts a sync every so many bytes and lets the copy go on meanwhile, by one sync at most. */
function backgroundSync(output: FileHandle) {
  let unsynced = 0;
  let running: Promise<unknown> = Promise.resolve();
  return {
    async written(bytes: number): Promise<void> {
      unsynced += bytes;
      if (unsynced < SYNC_EVERY_BYTES) return;
      unsynced = 0;
      rethrow(await running);
      running = output.datasync().catch((error: unknown) => error ?? new Error('sync failed'));
    },
    async end(): Promise<void> {
      rethrow(await running);
      await output.sync();
    },
  };
}

function rethrow(error: unknown): void {
  if (error !== undefined) throw error;
}

/** True when it was done, false when this file system cannot and something else must be tried. */
async function madeBy(make: () => Promise<void>): Promise<boolean> {
  try {
    await make();
    return true;
  } catch (error) {
    if (NOT_HERE.has(errnoOf(error) ?? '')) return false;
    throw error;
  }
}

/** A file that came about without our writing it: our mode, and on disk. */
async function settle(temp: string): Promise<void> {
  await chmod(temp, FILE_MODE);
  const file = await open(temp, 'r');
  try {
    await file.sync();
  } finally {
    await file.close();
  }
}

async function withNewFile(temp: string, fill: (output: FileHandle) => Promise<void>): Promise<void> {
  const output = await open(temp, 'wx', FILE_MODE);
  try {
    await fill(output);
  } finally {
    await output.close();
  }
}

async function writeAll(output: FileHandle, part: Uint8Array): Promise<void> {
  for (let done = 0; done < part.length; ) {
    const { bytesWritten } = await output.write(part, done, part.length - done);
    done += bytesWritten;
  }
}

async function checkSize(input: FileHandle, source: string, bytes: number): Promise<void> {
  const found = await input.stat().catch((error: unknown) => {
    throw sourceFault(source, error);
  });
  if (!found.isFile()) throw sourceFault(source, new Error('not a regular file'));
  if (found.size !== bytes) throw sizeDiffers(source, found.size, bytes);
}

function sizeDiffers(source: string, found: number, stated: number): BackupError {
  return new BackupError('TRUNCATED', `it holds ${found} bytes, stated were ${stated}`, {
    op: OP,
    object: source,
    hint: 'the file was changed after it had been made ready; nothing was stored, make it again',
  });
}

function digestDiffers(source: string, found: string, stated: string): BackupError {
  return new BackupError('CHECKSUM', `its sha256 is ${found}, stated was ${stated}`, {
    op: OP,
    object: source,
    hint: 'the file was changed after it had been made ready, or the disk is failing; nothing was stored',
  });
}
