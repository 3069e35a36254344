/** The last event that the store holds: from the manifest of the object that the chain ends with, or from its content. */
import { createWriteStream } from 'node:fs';
import { rm } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { isBackupError, isDamaged } from '../errors.js';
import { deltaLastEvent } from '../native/index.js';
import { type LastRecord, MAX_MANIFEST_BYTES, type Manifest, parseManifest } from '../snapshot/manifest.js';
import { manifestKey } from '../store/layout.js';
import { readSmall } from '../store/read.js';
import type { Store } from '../store/store.js';
import { recordOfDelta } from './history.js';
import type { ChainObject } from './stored-chain.js';

/** A larger delta is not fetched only to compare one record: a full is begun with instead. */
const MAX_FETCHED_DELTA_BYTES = 1024 * 1024 * 1024;

export interface StoredEnd {
  readonly record: LastRecord | undefined;
  readonly manifest: Manifest | undefined;
}

export interface ReadEndOptions {
  /** Where a delta without a manifest may be put for a moment; must not exist. Undefined: it is not fetched. */
  readonly scratchPath: string | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** A full without a manifest (the Go tool's) has no record that is cheap to get: undefined. */
export async function readStoredEnd(
  store: Store,
  tip: ChainObject,
  options: ReadEndOptions,
): Promise<StoredEnd> {
  const manifest = await readManifest(store, tip.name.text, options.signal);
  if (manifest?.lastRecord !== undefined) return { record: manifest.lastRecord, manifest };
  const { scratchPath } = options;
  const readable = tip.name.kind === 'delta' && !tip.name.encrypted && tip.bytes <= MAX_FETCHED_DELTA_BYTES;
  if (!readable || scratchPath === undefined) return { record: undefined, manifest };
  return { record: await recordOfObject(store, tip, { ...options, scratchPath }), manifest };
}

/** Undefined when there is none, or none that can be read: no manifest is ever needed. */
async function readManifest(
  store: Store,
  name: string,
  signal: AbortSignal | undefined,
): Promise<Manifest | undefined> {
  try {
    const bytes = await readSmall(store, manifestKey(name), { maxBytes: MAX_MANIFEST_BYTES, signal });
    return parseManifest(name, bytes);
  } catch (error) {
    if (MISSING.some((code) => isBackupError(error, code))) return undefined;
    throw error;
  }
}

const MISSING = ['NOT_FOUND', 'CORRUPT', 'UNSUPPORTED'] as const;

async function recordOfObject(
  store: Store,
  tip: ChainObject,
  { scratchPath, signal }: ReadEndOptions & { readonly scratchPath: string },
): Promise<LastRecord | undefined> {
  try {
    const body = Readable.from(store.get(tip.key, { signal }), { objectMode: false });
    await pipeline(body, createWriteStream(scratchPath, { flags: 'wx', mode: 0o600 }));
    return recordOfDelta(await deltaLastEvent(tip.name.text, scratchPath, { signal }));
  } catch (error) {
    // A damaged delta is no end to continue from; who verifies the store will hear of it.
    if (isDamaged(error)) return undefined;
    throw error;
  } finally {
    await rm(scratchPath, { force: true });
  }
}
