/** An object's bytes, one chunk per request of the consumer. */
import { constants, type FileHandle, open } from 'node:fs/promises';
import { BackupError } from '../../errors.js';
import { throwIfCancelled } from '../cancel.js';
import { checkRange, rangeWithin } from '../checks.js';
import type { GetOptions } from '../store.js';
import { localFault } from './faults.js';

const OP = 'store get';
const READ_CHUNK_BYTES = 256 * 1024;
/** A FIFO must not block, a link that was planted since the path was resolved must not be followed. */
const FLAGS = constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW;

export async function* readRange(path: string, options: GetOptions): AsyncGenerator<Uint8Array> {
  checkRange(path, options.range);
  const file = await open(path, FLAGS).catch((error: unknown) => {
    throw localFault(OP, path, error);
  });
  try {
    const { start, end } = rangeWithin(await sizeOf(file, path), options.range);
    let buffer = newBuffer(end - start);
    for (let at = start; at < end; ) {
      throwIfCancelled(OP, path, options.signal);
      if (at > start && options.reuseBuffer !== true) buffer = newBuffer(end - at);
      const chunk = await readAt(file, path, at, buffer.subarray(0, end - at));
      at += chunk.length;
      yield chunk;
    }
  } finally {
    await file.close();
  }
}

/** Not from the shared pool: the consumer may keep, or transfer, what it gets. */
function newBuffer(bytes: number): Buffer {
  return Buffer.allocUnsafeSlow(Math.min(READ_CHUNK_BYTES, bytes));
}

async function readAt(file: FileHandle, path: string, at: number, into: Buffer): Promise<Uint8Array> {
  const { bytesRead } = await file.read(into, 0, into.length, at).catch((error: unknown) => {
    throw localFault(OP, path, error);
  });
  if (bytesRead > 0) return into.subarray(0, bytesRead);
  throw new BackupError('IO', `it ended at byte ${at} while it was being read`, {
    op: OP,
    object: path,
    hint: 'something changes files in this store; objects must never change',
  });
}

async function sizeOf(file: FileHandle, path: string): Promise<number> {
  const stats = await file.stat();
  if (stats.isFile()) return stats.size;
  throw new BackupError('NOT_FOUND', 'no such object: it is not a regular file', { op: OP, object: path });
}
