/**
 * Walks a directory tree in the order of the keys' bytes, in memory that does not grow with the number of files.
 *
 * A directory's names come in no order, so it is read once per window: the smallest `WINDOW_NAMES` names above the
 * last one delivered are kept, sorted and delivered. 504,438 files of one directory are four such passes.
 * A directory takes part in the order as "name/", which is what its keys have in common: "a-b", "a.b", "a/b", "a0".
 */
import type { Dirent, Stats } from 'node:fs';
import { lstat, opendir } from 'node:fs/promises';
import { throwIfCancelled } from '../cancel.js';
import { compareKeys, keyFault, sortKeys } from '../key.js';
import type { ListOptions, StoredObject } from '../store.js';
import { errnoOf, localFault } from './faults.js';

const OP = 'store list';
/** Names of one directory in memory at a time; twice as many while they are gathered. */
export const WINDOW_NAMES = 131_072;
/** Entries per call into the system, and files whose size is asked for at once. */
const READ_BATCH = 1024;
const STAT_BATCH = 128;

export interface ListContext extends ListOptions {
  readonly windowNames: number;
  /** `base` of the directory that was asked for. */
  readonly top: string;
}

/** Batches of objects below `directory`, whose keys begin with `base` ("" or "…/"). */
export async function* listTree(
  directory: string,
  base: string,
  context: ListContext,
): AsyncGenerator<StoredObject[]> {
  let floor = floorWithin(base, context.after);
  let onSkipped = context.onSkipped;
  for (;;) {
    const window = await readWindow(directory, base, floor, { ...context, onSkipped });
    yield* deliver(directory, base, window.entries, context);
    const last = window.entries.at(-1);
    if (!window.more || last === undefined) return;
    floor = { above: last, inside: undefined };
    // Later passes meet the same names again.
    onSkipped = undefined;
  }
}

/** Where a listing of one directory begins: above one entry, or also within the directory `inside`. */
interface Floor {
  readonly above: string;
  readonly inside: string | undefined;
}

function floorWithin(base: string, after: string | undefined): Floor {
  if (after === undefined || !after.startsWith(base)) return { above: '', inside: undefined };
  const rest = after.slice(base.length);
  const slash = rest.indexOf('/');
  return { above: rest, inside: slash < 0 ? undefined : rest.slice(0, slash + 1) };
}

interface Window {
  readonly entries: string[];
  /** There are names above the last entry. */
  readonly more: boolean;
}

async function readWindow(
  directory: string,
  base: string,
  floor: Floor,
  context: ListContext,
): Promise<Window> {
  const limit = context.windowNames;
  let entries: string[] = [];
  let more = false;
  let ceiling: string | undefined;
  const keepSmallest = () => {
    sortKeys(entries);
    if (entries.length <= limit) return;
    entries = entries.slice(0, limit);
    ceiling = entries.at(-1);
    more = true;
  };
  for await (const entry of readNames(directory, base, context)) {
    if (entry !== floor.inside && compareKeys(entry, floor.above) <= 0) continue;
    if (ceiling !== undefined && compareKeys(entry, ceiling) > 0) continue;
    entries.push(entry);
    if (entries.length >= 2 * limit) keepSmallest();
  }
  keepSmallest();
  return { entries, more };
}

/** Names of files, and of directories with a "/" behind; everything else is reported and passed over. */
async function* readNames(directory: string, base: string, context: ListContext): AsyncGenerator<string> {
  const opened = await opendir(directory, { bufferSize: READ_BATCH }).catch((error: unknown) => {
    if (['ENOENT', 'ENOTDIR'].includes(errnoOf(error) ?? '')) return undefined;
    const fault = localFault(OP, directory, error);
    // A `lost+found` of root must not end the listing; the directory that was asked for must be readable.
    if (fault.code !== 'PERMISSION' || base === context.top) throw fault;
    context.onSkipped?.(base, fault.message);
    return undefined;
  });
  if (opened === undefined) return;
  let read = 0;
  try {
    for await (const entry of opened) {
      if (read++ % READ_BATCH === 0) throwIfCancelled(OP, directory, context.signal);
      if (entry.name.startsWith('.')) continue;
      const fault = entryFault(entry, base);
      if (fault !== undefined) context.onSkipped?.(base + entry.name, fault);
      else yield entry.isDirectory() ? `${entry.name}/` : entry.name;
    }
  } catch (error) {
    throw localFault(OP, directory, error);
  }
}

function entryFault(entry: Dirent, base: string): string | undefined {
  if (entry.isSymbolicLink()) return 'it is a symbolic link; links are not followed';
  if (!entry.isFile() && !entry.isDirectory()) return 'it is neither a file nor a directory';
  // What is not UTF-8 arrives with U+FFFD in it, and could not be opened by the name that we were given.
  if (entry.name.includes('\uFFFD')) return 'its name is not UTF-8';
  return keyFault(base + entry.name);
}

async function* deliver(
  directory: string,
  base: string,
  entries: readonly string[],
  context: ListContext,
): AsyncGenerator<StoredObject[]> {
  let files: string[] = [];
  for (const entry of entries) {
    const isDirectory = entry.endsWith('/');
    if (!isDirectory) files.push(entry);
    if (files.length >= STAT_BATCH || (isDirectory && files.length > 0)) {
      yield await statAll(directory, base, files, context);
      files = [];
    }
    if (isDirectory) yield* listTree(`${directory}/${entry.slice(0, -1)}`, base + entry, context);
  }
  if (files.length > 0) yield await statAll(directory, base, files, context);
}

async function statAll(
  directory: string,
  base: string,
  files: readonly string[],
  context: ListContext,
): Promise<StoredObject[]> {
  throwIfCancelled(OP, directory, context.signal);
  const found = await Promise.all(files.map((name) => statOne(`${directory}/${name}`)));
  const objects: StoredObject[] = [];
  for (const [at, stats] of found.entries()) {
    // Undefined: deleted since its name was read.
    if (stats?.isFile() === true) {
      objects.push({ key: base + files[at], bytes: stats.size, modifiedMs: Math.trunc(stats.mtimeMs) });
    }
  }
  return objects;
}

async function statOne(path: string): Promise<Stats | undefined> {
  try {
    return await lstat(path);
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return undefined;
    throw localFault(OP, path, error);
  }
}
