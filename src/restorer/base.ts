/** The full that a restore begins with: fetched, unpacked into place, and everything checked that can be. */
import { rm } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { raceAbort } from '../base/abort.js';
import { together } from '../base/together.js';
import { BackupError, isBackupError } from '../errors.js';
import {
  checkDb,
  checkMvcc,
  type DbCheck,
  type DbInfo,
  FileArrival,
  type Finding,
  identifyFile,
  inspectDb,
  type UnpackedFull,
  unpackFull,
} from '../native/index.js';
import { whatOf } from '../pipeline/failure.js';
import { type FetchSource, fetchFile } from '../pipeline/fetch.js';
import type { StoredSnapshot } from '../snapshot/plan.js';
import type { RestoreObserver } from './observer.js';

export interface Base {
  readonly object: StoredSnapshot;
  /** The bare database: no trailer. */
  readonly path: string;
  readonly bytes: number;
  readonly info: DbInfo;
  readonly shape: BaseShape;
  /**
   * Settles when all records have been read and the histories of their keys checked. That goes on while deltas are
   * applied, which changes no page that it reads; no result counts before.
   */
  readonly history: Promise<void>;
}

/** Of the file as such. */
export interface BaseShape {
  /** False when its records can be read and its freelist is damaged. */
  readonly sound: boolean;
  /** Up to the high-water mark, and what of it lies in no tree. */
  readonly bytes: number;
  readonly freeBytes: number;
}

export interface BaseOptions {
  readonly skipHashCheck: boolean;
  /** The caller waits for `history` himself. */
  readonly historyLater?: boolean | undefined;
  readonly observer: RestoreObserver;
  readonly signal?: AbortSignal | undefined;
}

/** No etcd holds more; what unpacks to more is no snapshot. */
const MAX_PLAIN_BYTES = 1024 ** 4;
const MAX_FINDINGS = 5;

/** Errors name the object, so that the planner can go on without it. */
export async function openBase(
  source: FetchSource,
  object: StoredSnapshot,
  { skipHashCheck, historyLater = false, observer, signal }: BaseOptions,
): Promise<Base> {
  const packed = join(source.workDir, `${object.name.text}.packed`);
  const path = join(source.workDir, `${object.name.text}.db`);
  try {
    const unpacked = await fetchAndUnpack(source, object, { packed, path, observer, signal });
    await checkKind(object, path, signal);
    compareDigests(object, unpacked, skipHashCheck);
    await rm(packed);
    const structure = await checkFile(object, path, observer, signal);
    const info = await inspectDb(path, { signal });
    compareRevision(object, info, observer);
    const history = checkHistory(object, path, signal);
    // Whoever waits for it hears of it; that may be later, or nobody when the base is not used after all.
    history.catch(() => undefined);
    if (!historyLater) await history;
    return { object, path, bytes: unpacked.plainBytes, info, shape: shapeOf(structure, info), history };
  } catch (error) {
    await Promise.all([packed, path].map((file) => rm(file, { force: true })));
    throw nameObject(error, object);
  }
}

interface UnpackTarget {
  readonly packed: string;
  readonly path: string;
  readonly observer: RestoreObserver;
  readonly signal: AbortSignal | undefined;
}

/** Unpacked as it arrives: the slower of the two is the time. */
async function fetchAndUnpack(
  source: FetchSource,
  object: StoredSnapshot,
  { packed, path, observer, signal }: UnpackTarget,
): Promise<UnpackedFull> {
  const arrival = new FileArrival();
  let begin = (): void => undefined;
  const begun = new Promise<void>((resolve) => {
    begin = resolve;
  });
  const [, unpacked] = await together(signal, [
    async (signal) => {
      await fetchFile(source, object, packed, {
        signal,
        onProgress: (bytes) => observer.progress('fetch base', bytes, object.bytes, 'bytes'),
        onFront: (bytes) => {
          begin();
          arrival.advance(bytes);
        },
      });
      arrival.finish();
    },
    async (signal) => {
      await raceAbort(begun, signal);
      return unpack(object, packed, path, arrival, signal);
    },
  ]);
  return unpacked;
}

async function unpack(
  object: StoredSnapshot,
  source: string,
  target: string,
  arrival: FileArrival,
  signal: AbortSignal,
): Promise<UnpackedFull> {
  const codec = object.name.codec === 'ebd' ? 'none' : object.name.codec;
  const request = { source, target, codec, stripTrailer: true, maxBytes: MAX_PLAIN_BYTES };
  try {
    return await unpackFull(object.name.text, request, { signal, arrival });
  } catch (error) {
    if (!isBackupError(error, 'CORRUPT') && !isBackupError(error, 'TRUNCATED')) throw error;
    const what = `${whatOf(error)}; the file is ${await identifyFile(source, { signal })}`;
    throw new BackupError(error.code, what, { op: 'restore', object: object.name.text, cause: error });
  }
}

function compareDigests(
  { name, manifest }: StoredSnapshot,
  unpacked: UnpackedFull,
  skipHashCheck: boolean,
): void {
  const object = name.text;
  if (manifest !== undefined && manifest.sha256 !== unpacked.packedSha256) {
    throw new BackupError(
      'CHECKSUM',
      `its SHA-256 is ${unpacked.packedSha256}, its manifest states ${manifest.sha256}`,
      {
        ...{ op: 'restore', object },
      },
    );
  }
  if (unpacked.trailer === 'wrong') {
    throw new BackupError('CHECKSUM', 'the SHA-256 at its end does not fit its bytes', {
      op: 'restore',
      object,
    });
  }
  if (unpacked.trailer === 'missing' && !skipHashCheck) {
    throw new BackupError('CHECKSUM', 'it lacks the SHA-256 that etcd puts at the end of a snapshot', {
      op: 'restore',
      object,
      hint: 'give --skip-hash-check if it was copied from a data directory (member/snap/db)',
    });
  }
}

/** First of all, so that a zip is called a zip and not a snapshot that lacks its trailer (hazard 27). */
async function checkKind(
  object: StoredSnapshot,
  path: string,
  signal: AbortSignal | undefined,
): Promise<void> {
  const kind = await identifyFile(path, { signal });
  if (kind === 'bbolt') return;
  throw new BackupError('CORRUPT', `it is ${kind}`, { op: 'restore', object: object.name.text });
}

/** A freelist that is wrong is no loss: etcd builds its own, since none is kept in what is restored. */
async function checkFile(
  object: StoredSnapshot,
  path: string,
  observer: RestoreObserver,
  signal: AbortSignal | undefined,
): Promise<DbCheck> {
  const onProgress = (pages: number) => observer.progress('check base', pages, undefined, 'pages');
  const request = { threads: availableParallelism(), maxFindings: MAX_FINDINGS };
  const structure = await checkDb(path, request, { signal, onProgress });
  const found = describe(structure.findings, structure.findingsTotal);
  if (!structure.readable)
    throw new BackupError('CORRUPT', found, { op: 'restore', object: object.name.text });
  if (structure.findingsTotal > 0)
    observer.warn(`${object.name.text}: ${found}; restored all the same, its records are whole`);
  return structure;
}

async function checkHistory(
  object: StoredSnapshot,
  path: string,
  signal: AbortSignal | undefined,
): Promise<void> {
  try {
    const mvcc = await checkMvcc(path, { maxFindings: MAX_FINDINGS }, { signal });
    if (mvcc.findingsTotal === 0) return;
    const what = describe(mvcc.findings, mvcc.findingsTotal);
    throw new BackupError('CORRUPT', what, { op: 'restore', object: object.name.text });
  } catch (error) {
    throw nameObject(error, object);
  }
}

function shapeOf({ findingsTotal, pages, highWater }: DbCheck, { pageSize }: DbInfo): BaseShape {
  return {
    sound: findingsTotal === 0,
    bytes: highWater * pageSize,
    freeBytes: Math.max(0, highWater - pages) * pageSize,
  };
}

function compareRevision({ name, manifest }: StoredSnapshot, info: DbInfo, observer: RestoreObserver): void {
  if (manifest !== undefined && manifest.revision !== info.revision) {
    observer.warn(
      `${name.text} holds revision ${info.revision}, its manifest says ${manifest.revision}; the content counts`,
    );
  } else if (info.revision !== name.last) {
    observer.info(
      `${name.text} holds revision ${info.revision}, its name says ${name.last}; the content counts`,
    );
  }
}

export function describe(findings: readonly Finding[], total: number): string {
  const described = findings.map(({ place, detail }) => `${place}: ${detail}`).join('; ');
  return total > findings.length ? `${described}; and ${total - findings.length} findings more` : described;
}

function nameObject(error: unknown, { name }: StoredSnapshot): unknown {
  if (!(error instanceof BackupError) || error.object === name.text) return error;
  const { code, message, hint } = error;
  return new BackupError(code, message, {
    ...{ op: 'restore', object: name.text, cause: error },
    ...(hint === undefined ? {} : { hint }),
  });
}
