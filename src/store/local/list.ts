/**
 * Walks a directory tree in the order of the keys' bytes, in memory that does not grow with the number of files.
 *
 * A directory's names come in no order, so it is read once per window: the smallest `WINDOW_NAMES` names above the
 * last one delivered are kept, sorted and delivered. 504,438 files of one directory take about three passes.
 * A directory takes part in the order as "name/", which is what its keys have in common: "a-b", "a.b", "a/b", "a0".
 */
import { type Dir, type Dirent, lstat, type Stats } from 'node:fs';
import { opendir } from 'node:fs/promises';
import { throwIfCancelled } from '../cancel.js';
import { compareKeys, keyFault, sortKeys } from '../key.js';
import type { ListOptions, StoredObject } from '../store.js';
import { errnoOf, localFault } from './faults.js';

const OP = 'store list';
/** Names of one directory that are kept of a pass; up to twice as many while they are gathered. */
export const WINDOW_NAMES = 131_072;
/** Entries per call into the system, and files whose size is asked for at once. */
const READ_BATCH = 1024;
const STAT_BATCH = 512;

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
  let ceiling: string | undefined;
  await eachName(directory, base, context, (entry) => {
    if (entry !== floor.inside && compareKeys(entry, floor.above) <= 0) return;
    if (ceiling !== undefined && compareKeys(entry, ceiling) > 0) return;
    entries.push(entry);
    if (entries.length < 2 * limit) return;
    entries = sortKeys(entries).slice(0, limit);
    ceiling = entries.at(-1);
  });
  return { entries: sortKeys(entries), more: ceiling !== undefined };
}

/** Names of files, and of directories with a "/" behind; everything else is reported and passed over. */
async function eachName(
  directory: string,
  base: string,
  context: ListContext,
  visit: (entry: string) => void,
): Promise<void> {
  const opened = await openOrSkip(directory, base, context);
  if (opened === undefined) return;
  let read = 0;
  try {
    for await (const entry of opened) {
      if (read++ % READ_BATCH === 0) throwIfCancelled(OP, directory, context.signal);
      if (entry.name.startsWith('.')) continue;
      const fault = entryFault(entry);
      if (fault !== undefined) context.onSkipped?.(base + entry.name, fault);
      else visit(entry.isDirectory() ? `${entry.name}/` : entry.name);
    }
  } catch (error) {
    throw localFault(OP, directory, error);
  }
}

async function openOrSkip(directory: string, base: string, context: ListContext): Promise<Dir | undefined> {
  try {
    return await opendir(directory, { bufferSize: READ_BATCH });
  } catch (error) {
    if (['ENOENT', 'ENOTDIR'].includes(errnoOf(error) ?? '')) return undefined;
    const fault = localFault(OP, directory, error);
    // A `lost+found` of root must not end the listing; the directory that was asked for must be readable.
    if (fault.code !== 'PERMISSION' || base === context.top) throw fault;
    context.onSkipped?.(base, fault.message);
    return undefined;
  }
}

function entryFault(entry: Dirent): string | undefined {
  if (entry.isSymbolicLink()) return 'it is a symbolic link; links are not followed';
  if (!entry.isFile() && !entry.isDirectory()) return 'it is neither a file nor a directory';
  // What is not UTF-8 arrives with U+FFFD in it, and could not be opened by the name that we were given.
  return entry.name.includes('\uFFFD') ? 'its name is not UTF-8' : undefined;
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
    const fault = keyFault(base + (isDirectory ? entry.slice(0, -1) : entry));
    if (fault !== undefined) context.onSkipped?.(base + entry, fault);
    else if (!isDirectory) files.push(entry);
    if (files.length >= STAT_BATCH || (isDirectory && files.length > 0)) {
      yield await statAll(directory, base, files, context);
      files = [];
    }
    if (isDirectory && fault === undefined) {
      yield* listTree(`${directory}/${entry.slice(0, -1)}`, base + entry, context);
    }
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
  const objects: StoredObject[] = [];
  const found = await lstatAll(directory, files);
  for (const [at, stats] of found.entries()) {
    // Undefined: deleted since its name was read.
    if (stats?.isFile() === true) {
      objects.push({ key: base + files[at], bytes: stats.size, modifiedMs: Math.trunc(stats.mtimeMs) });
    }
  }
  return objects;
}

/** With callbacks: a promise for each of 500,000 files takes longer than the files do. */
function lstatAll(directory: string, files: readonly string[]): Promise<(Stats | undefined)[]> {
  return new Promise((resolve, reject) => {
    const found: (Stats | undefined)[] = new Array(files.length);
    let waiting = files.length;
    for (const [at, name] of files.entries()) {
      const path = `${directory}/${name}`;
      lstat(path, (error, stats) => {
        if (error === null) found[at] = stats;
        else if (error.code !== 'ENOENT') reject(localFault(OP, path, error));
        waiting -= 1;
        if (waiting === 0) resolve(found);
      });
    }
  });
}
