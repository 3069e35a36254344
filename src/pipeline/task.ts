/**
 * What a fetch worker does, and the plain data that goes in and out of it. A worker gets names and paths, never bytes:
 * it opens the store itself, writes to local files, and reads them natively.
 *
 * Control word, shared with the main thread (16 bytes):
 *   Int32    @0  1 when the job is to stop
 *   BigInt64 @8  bytes fetched so far
 */
import { open, rm } from 'node:fs/promises';
import { BackupError } from '../errors.js';
import { transcodeDelta, verifyDelta } from '../native/index.js';
import type { SnapshotName } from '../snapshot/name.js';
import type { StoreSettings } from '../store/registry.js';
import type { Store } from '../store/store.js';
import { download } from './download.js';
import { type PlainFailure, toPlainFailure } from './failure.js';

export const CONTROL_BYTES = 16;
/** How late a worker notices that it is to stop. */
const CANCEL_POLL_MS = 20;

/** An object, as much of it as crosses to a worker. */
export interface FetchObject {
  readonly key: string;
  readonly name: string;
  readonly bytes: number;
  readonly codec: SnapshotName['codec'];
  readonly start: bigint;
  readonly last: bigint;
  /** As its manifest states it. */
  readonly sha256: string | undefined;
}

export interface FetchTask {
  readonly kind: 'delta' | 'range';
  readonly settings: StoreSettings;
  readonly object: FetchObject;
  /** A delta: where the raw object goes, the prepared file beside it. A range: the preallocated file. */
  readonly path: string;
  readonly range: { readonly offset: number; readonly bytes: number } | undefined;
  readonly control: SharedArrayBuffer;
}

/** A delta that is verified and lies on local disk as an .ebd, whoever wrote it. */
export interface PreparedDelta {
  readonly path: string;
  /** Name of the object. */
  readonly object: string;
  readonly firstRevision: bigint;
  readonly lastRevision: bigint;
  readonly events: number;
  readonly lastTimeMs: number;
}

export type FetchAnswer =
  | { readonly ok: true; readonly delta: PreparedDelta | undefined }
  | { readonly ok: false; readonly failure: PlainFailure };

export async function runTask(
  openStore: (settings: StoreSettings) => Promise<Store>,
  task: FetchTask,
): Promise<FetchAnswer> {
  const { signal, onProgress, dispose } = follow(task.control);
  try {
    const store = await openStore(task.settings);
    if (task.kind === 'range') {
      await fetchRange(store, task, signal, onProgress);
      return { ok: true, delta: undefined };
    }
    return { ok: true, delta: await prepareDelta(store, task, signal, onProgress) };
  } catch (error) {
    return { ok: false, failure: toPlainFailure(error, task.object.name) };
  } finally {
    dispose();
  }
}

async function prepareDelta(
  store: Store,
  { object, path }: FetchTask,
  signal: AbortSignal,
  onProgress: (bytes: number) => void,
): Promise<PreparedDelta> {
  await download(store, object, path, { signal, onProgress });
  if (object.codec === 'ebd') {
    const { summary } = await verifyDelta(object.name, path, { signal });
    if (object.sha256 !== undefined && object.sha256 !== summary.sha256) {
      throw damaged(
        'CHECKSUM',
        object,
        `its SHA-256 is ${summary.sha256}, its manifest states ${object.sha256}`,
      );
    }
    return prepared(object, path, summary);
  }
  const target = `${path}.ebd`;
  try {
    // The codec keeps what lies on disk near the object's size, which the window counts.
    const summary = await transcodeDelta(object.name, { source: path, target, codec: 'zstd' }, { signal });
    return prepared(object, target, summary);
  } catch (error) {
    await rm(target, { force: true });
    throw error;
  } finally {
    await rm(path, { force: true });
  }
}

function prepared(
  object: FetchObject,
  path: string,
  summary: { firstRevision: bigint; lastRevision: bigint; events: number; lastTimeMs: number },
): PreparedDelta {
  const { firstRevision, lastRevision, events, lastTimeMs } = summary;
  if (lastRevision !== object.last || firstRevision > object.start) {
    throw damaged(
      'CORRUPT',
      object,
      `it holds revisions ${firstRevision}-${lastRevision}, not what its name says`,
    );
  }
  return { path, object: object.name, firstRevision, lastRevision, events, lastTimeMs };
}

/** One range into its place of a file that has its full length already. */
async function fetchRange(
  store: Store,
  { object, path, range }: FetchTask,
  signal: AbortSignal,
  onProgress: (bytes: number) => void,
): Promise<void> {
  if (range === undefined) throw new BackupError('INTERNAL', 'a range task without a range', { op: 'fetch' });
  const file = await open(path, 'r+');
  try {
    let written = 0;
    for await (const chunk of store.get(object.key, { range, signal, reuseBuffer: true })) {
      await file.write(chunk, 0, chunk.byteLength, range.offset + written);
      written += chunk.byteLength;
      onProgress(written);
    }
    if (written === range.bytes) return;
    throw damaged(
      'TRUNCATED',
      object,
      `it ends at byte ${range.offset + written}, ${object.bytes} are listed`,
    );
  } finally {
    await file.close();
  }
}

function damaged(code: 'CORRUPT' | 'CHECKSUM' | 'TRUNCATED', object: FetchObject, what: string): BackupError {
  return new BackupError(code, what, { op: 'fetch', object: object.name });
}

function follow(control: SharedArrayBuffer) {
  const stop = new Int32Array(control, 0, 1);
  const fetched = new BigInt64Array(control, 8, 1);
  const aborter = new AbortController();
  const timer = setInterval(() => {
    if (Atomics.load(stop, 0) === 1) aborter.abort(new Error('the fetch was cancelled'));
  }, CANCEL_POLL_MS);
  return {
    signal: aborter.signal,
    onProgress: (bytes: number) => void Atomics.store(fetched, 0, BigInt(bytes)),
    dispose: () => clearInterval(timer),
  };
}
