/**
 * Whether two objects are of one history, asked of their content (architecture, decision 6): does the last record of
 * the lower one stand in the higher one? What cannot be told is "unknown", and then the reader of the fork decides.
 */
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { isBackupError } from '../errors.js';
import {
  deltaEventAt,
  deltaLastEvent,
  deltaMoment,
  type NativeOptions,
  Replay,
  type ReplayBatch,
  recordAt,
  transcodeDelta,
} from '../native/index.js';
import { type FetchSource, fetchFile } from '../pipeline/fetch.js';
import type { DeltaAnswer } from '../snapshot/at-time.js';
import type { ContentAnswer, ContentQuestion, StoredSnapshot, Verdict } from '../snapshot/plan.js';
import { type BaseOptions, openBase } from './base.js';

/** One full at a time lies on disk: each has the size of a db. */
export async function answerQuestion(
  source: FetchSource,
  { lower, higher }: ContentQuestion,
  options: BaseOptions,
): Promise<ContentAnswer> {
  const names = { lower: lower.name.text, higher: higher.name.text };
  const checked = { ...options, historyLater: false };
  try {
    const compare = higher.name.kind === 'full' ? compareWithFull : compareWithDelta;
    return { ...names, verdict: await compare(source, lower, higher, checked) };
  } catch (error) {
    const code = isBackupError(error) ? error.code : 'INTERNAL';
    if (['CANCELLED', 'NO_SPACE', 'UNAVAILABLE', 'TIMEOUT', 'INTERNAL', 'IO'].includes(code)) throw error;
    options.observer.warn(`cannot compare ${names.lower} with ${names.higher}: ${(error as Error).message}`);
    return { ...names, verdict: 'unknown' };
  }
}

interface Identity {
  readonly key: string;
  readonly main: bigint;
  readonly sha256: string;
}

async function compareWithFull(
  source: FetchSource,
  lower: StoredSnapshot,
  higher: StoredSnapshot,
  options: BaseOptions,
): Promise<Verdict> {
  const end = await lastRecordOf(source, lower, options);
  if (end === undefined) return 'unknown';
  const base = await openBase(source, higher, options);
  try {
    const found = await recordAt(base.path, end.main, { signal: options.signal });
    // A revision that is not there was compacted away, unless it is above what is.
    if (found === null) return end.main > base.info.revision ? 'differs' : 'unknown';
    return found.sha256 === end.sha256 && found.key.toString('latin1') === end.key ? 'stands' : 'differs';
  } finally {
    await rm(base.path, { force: true });
  }
}

/** Two deltas are compared by everything that happened at the revision; a full with the last event of a delta. */
async function compareWithDelta(
  source: FetchSource,
  lower: StoredSnapshot,
  higher: StoredSnapshot,
  options: BaseOptions,
): Promise<Verdict> {
  if (lower.name.kind === 'delta') {
    const revision = lower.name.last;
    const [a, b] = [
      await revisionOf(source, lower, revision, options),
      await revisionOf(source, higher, revision, options),
    ];
    if (a === undefined || b === undefined) return 'unknown';
    return a.equals(b) ? 'stands' : 'differs';
  }
  const end = await lastRecordOf(source, lower, options);
  if (end === undefined) return 'unknown';
  const other = await fetched(source, higher, options, (path, native) =>
    deltaEventAt(higher.name.text, path, end.main, native),
  );
  if (other === null) return 'unknown';
  return other.recordSha256 === end.sha256 && other.key.toString('latin1') === end.key ? 'stands' : 'differs';
}

/** Up to where a delta had arrived at a time. */
export function askDelta(
  source: FetchSource,
  object: StoredSnapshot,
  timeMs: number,
  options: BaseOptions,
): Promise<DeltaAnswer> {
  return fetched(source, object, options, (path, native) =>
    deltaMoment(object.name.text, path, timeMs, native),
  );
}

async function lastRecordOf(
  source: FetchSource,
  object: StoredSnapshot,
  options: BaseOptions,
): Promise<Identity | undefined> {
  if (object.name.kind === 'delta') {
    return withDelta(source, object, options, async (path, native) => {
      const { key, main, recordSha256 } = await deltaLastEvent(object.name.text, path, native);
      return { key: key.toString('latin1'), main, sha256: recordSha256 };
    });
  }
  const base = await openBase(source, object, options);
  await rm(base.path, { force: true });
  const { lastRecord } = base.info;
  return lastRecord === null
    ? undefined
    : { key: lastRecord.key.toString('latin1'), main: lastRecord.main, sha256: lastRecord.sha256 };
}

/** What a delta makes of one revision: the bytes of a transaction, which carry keys, values and leases in order. */
async function revisionOf(
  source: FetchSource,
  object: StoredSnapshot,
  revision: bigint,
  options: BaseOptions,
): Promise<Buffer | undefined> {
  return withDelta(source, object, options, async (path, native) => {
    const replay = new Replay(revision - 1n);
    replay.open(object.name.text, path, revision);
    const batch: ReplayBatch | null = await replay.next(native);
    return batch?.firstRevision === revision
      ? Buffer.from(batch.bytes.subarray(0, batch.ends[0]))
      : undefined;
  });
}

/** The delta as an .ebd on local disk, while `use` runs. */
function withDelta<T>(
  source: FetchSource,
  object: StoredSnapshot,
  options: BaseOptions,
  use: (path: string, native: NativeOptions) => Promise<T>,
): Promise<T> {
  return fetched(source, object, options, async (path, native) => {
    if (object.name.codec === 'ebd') return use(path, native);
    const target = `${path}.ebd`;
    try {
      await transcodeDelta(object.name.text, { source: path, target, codec: 'zstd' }, native);
      return await use(target, native);
    } finally {
      await rm(target, { force: true });
    }
  });
}

/** The object as it is stored, on local disk, while `use` runs. */
async function fetched<T>(
  source: FetchSource,
  object: StoredSnapshot,
  { signal }: BaseOptions,
  use: (path: string, native: NativeOptions) => Promise<T>,
): Promise<T> {
  const path = join(source.workDir, `question-${object.name.text}`);
  try {
    await fetchFile(source, object, path, { signal });
    return await use(path, { signal });
  } finally {
    await rm(path, { force: true });
  }
}
