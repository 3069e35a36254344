/** Finds hidden files that interrupted puts left in a directory tree. Theirs only, and only when they are gone. */
import type { Dir } from 'node:fs';
import { lstat, opendir, readFile, unlink } from 'node:fs/promises';
import { throwIfCancelled } from '../cancel.js';
import type { CleanUpResult, StoreOptions } from '../store.js';
import { errnoOf, localFault } from './faults.js';
import { isLeftBehind, tempOwner } from './temp.js';

const OP = 'store clean-up';
const CLAIM_NAME = /^\.claim-[0-9a-f]{32}$/;
/** A claim is empty between two system calls; one that stays so had its writer killed there. */
const EMPTY_CLAIM_MS = 60 * 1000;
const READ_BATCH = 1024;
/** Keys have at most 1024 bytes, so their directories are never deeper. */
const MAX_DEPTH = 512;

export async function removeLeftBehind(directory: string, options: StoreOptions): Promise<CleanUpResult> {
  const total = { removed: 0, bytes: 0 };
  await sweep(directory, 0, total, options.signal);
  return total;
}

async function sweep(
  directory: string,
  depth: number,
  total: { removed: number; bytes: number },
  signal: AbortSignal | undefined,
): Promise<void> {
  const opened = await openOrSkip(directory, depth);
  if (opened === undefined) return;
  try {
    for await (const entry of opened) {
      throwIfCancelled(OP, directory, signal);
      const path = `${directory}/${entry.name}`;
      if (entry.isDirectory() && !entry.name.startsWith('.') && depth < MAX_DEPTH) {
        await sweep(path, depth + 1, total, signal);
      } else if (entry.isFile() && entry.name.startsWith('.')) {
        const bytes = await removeIfLeft(path, entry.name);
        if (bytes === undefined) continue;
        total.removed += 1;
        total.bytes += bytes;
      }
    }
  } catch (error) {
    throw localFault(OP, directory, error);
  }
}

async function openOrSkip(directory: string, depth: number): Promise<Dir | undefined> {
  try {
    return await opendir(directory, { bufferSize: READ_BATCH });
  } catch (error) {
    if (['ENOENT', 'ENOTDIR'].includes(errnoOf(error) ?? '')) return undefined;
    const fault = localFault(OP, directory, error);
    // What may not be read below, such as a `lost+found`, holds nothing that this user wrote.
    if (fault.code === 'PERMISSION' && depth > 0) return undefined;
    throw fault;
  }
}

/** Bytes set free, or undefined when the file is to stay. */
async function removeIfLeft(path: string, name: string): Promise<number | undefined> {
  try {
    const isClaim = CLAIM_NAME.test(name);
    const owner = tempOwner(isClaim ? await readFile(path, 'utf8') : name);
    if (owner === undefined && !isClaim) return undefined;
    const stats = await lstat(path);
    const silentMs = Date.now() - stats.mtimeMs;
    const left = owner === undefined ? silentMs > EMPTY_CLAIM_MS : isLeftBehind(owner, silentMs);
    if (!left) return undefined;
    await unlink(path);
    // A second name: the put was killed after it had published, and the bytes live on as the object.
    return stats.nlink > 1 ? 0 : stats.size;
  } catch (error) {
    // Its writer, or another clean-up, was quicker.
    if (errnoOf(error) === 'ENOENT') return undefined;
    throw error;
  }
}
