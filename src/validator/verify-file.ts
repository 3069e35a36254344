/**
 * One local file: a plain snapshot, as `etcdctl snapshot save` writes it, or (when allowed) a copy of member/snap/db; a
 * full or a delta that was copied out of a store, told by its name, else by its content. The file is only read.
 */
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { basename, join, resolve } from 'node:path';
import { isBackupError } from '../errors.js';
import { checkSnapshotFile, identifyFile, unpackFull, verifyDelta } from '../native/index.js';
import { parseName, type SnapshotName } from '../snapshot/name.js';
import { codecOf, MAX_PLAIN_BYTES } from './receive-full.js';
import type { DbVerdict, VerifyOptions } from './verdict.js';
import { nameProblems } from './verify-delta.js';
import { checkPlain, trailerProblems } from './verify-full.js';

export interface FileVerdict extends DbVerdict {
  readonly object: string;
}

export interface VerifyFileOptions extends VerifyOptions {
  readonly skipHashCheck: boolean;
  /** Where a packed full is unpacked. */
  readonly tempDir: string;
}

export async function verifyFile(path: string, options: VerifyFileOptions): Promise<FileVerdict> {
  const file = resolve(path);
  const parsed = parseName(basename(file));
  const name = parsed.ok ? parsed.name : undefined;
  if (name?.kind === 'delta') return { object: file, ...(await verifyDeltaFile(file, name, options)) };
  if (name !== undefined && name.codec !== 'none') {
    return { object: file, ...(await verifyPackedFile(file, name, options)) };
  }
  const delta = name === undefined ? await tryDelta(file, options) : undefined;
  return { object: file, ...(delta ?? (await verifySnapshotFile(file, options))) };
}

/** The digest and the checks side by side; what the file is, when it is no snapshot, is told before anything else. */
async function verifySnapshotFile(file: string, options: VerifyFileOptions): Promise<DbVerdict> {
  const { signal } = options;
  const [digest, checked] = await Promise.allSettled([
    checkSnapshotFile(file, { allowMissingTrailer: options.skipHashCheck }, { signal }),
    checkPlain(file, undefined, options),
  ]);
  if (digest.status === 'rejected') throw digest.reason;
  if (checked.status === 'rejected') throw checked.reason;
  return checked.value.db;
}

async function verifyPackedFile(
  file: string,
  name: SnapshotName,
  options: VerifyFileOptions,
): Promise<DbVerdict> {
  const { tempDir, signal } = options;
  await mkdir(tempDir, { recursive: true, mode: 0o700 });
  const workDir = await mkdtemp(join(tempDir, 'etcdbr-verify-'));
  try {
    const target = join(workDir, 'plain');
    const request = { source: file, target, codec: codecOf({ name }), stripTrailer: false };
    const { trailer } = await unpackFull(file, { ...request, maxBytes: MAX_PLAIN_BYTES }, { signal });
    const { db } = await checkPlain(target, undefined, options);
    const problems = trailer === 'missing' && options.skipHashCheck ? [] : trailerProblems(trailer);
    return { ...db, problems: [...problems, ...db.problems] };
  } finally {
    await rm(workDir, { recursive: true, force: true });
  }
}

async function verifyDeltaFile(
  file: string,
  name: SnapshotName | undefined,
  { signal }: VerifyFileOptions,
): Promise<DbVerdict> {
  const { summary } = await verifyDelta(file, file, { signal });
  const problems = name === undefined ? [] : nameProblems(name, summary);
  return { revision: summary.lastRevision, records: summary.events, problems };
}

/** Undefined for what is no delta, or none that can be read: then it is looked at as a snapshot, and called what it is. */
async function tryDelta(file: string, options: VerifyFileOptions): Promise<DbVerdict | undefined> {
  if ((await identifyFile(file, options)) === 'bbolt') return undefined;
  try {
    return await verifyDeltaFile(file, undefined, options);
  } catch (error) {
    if (isBackupError(error) && error.code !== 'CANCELLED') return undefined;
    throw error;
  }
}
