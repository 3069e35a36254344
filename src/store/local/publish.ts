/** Gives a finished hidden file its name, without ever replacing what has that name already. */
import { createHash } from 'node:crypto';
import { constants, type FileHandle, link, lstat, open, rename, unlink } from 'node:fs/promises';
import { basename, dirname } from 'node:path';
import { sleep } from '../../base/abort.js';
import { BackupError } from '../../errors.js';
import { throwIfCancelled } from '../cancel.js';
import { errnoOf, localFault } from './faults.js';
import { tempName } from './temp.js';

const OP = 'store put';
/** A claim is held for one rename: who still meets one after a second has met that of a writer that is gone. */
const CLAIM_TRIES = 50;
const CLAIM_WAIT_MS = 20;
const READ_CHUNK_BYTES = 1024 * 1024;
/** Answers of file systems without hard links (FAT, SMB, many FUSE mounts). */
const NO_LINKS = new Set(['EPERM', 'EOPNOTSUPP', 'ENOTSUP', 'ENOSYS', 'EINVAL', 'EMLINK']);

export interface Content {
  readonly bytes: number;
  readonly sha256: string;
}

export type Link = (existing: string, path: string) => Promise<void>;

/**
 * True when `target` now is this file, false when there was something of that name. link(2) decides: it is atomic
 * and refuses an existing name. The hidden name stays; the caller removes it in any case.
 */
export async function publish(temp: string, target: string, makeLink: Link = link): Promise<boolean> {
  try {
    await makeLink(temp, target);
    return true;
  } catch (error) {
    const errno = errnoOf(error) ?? '';
    if (errno === 'EEXIST') return false;
    if (!NO_LINKS.has(errno)) throw error;
  }
  return renameUnderClaim(temp, target);
}

/** Whether `target` is there with this content. Other content is EXISTS; absent is false. */
export async function isStored(target: string, content: Content, signal?: AbortSignal): Promise<boolean> {
  const there = await lstat(target).catch((error: unknown) => {
    if (errnoOf(error) === 'ENOENT') return undefined;
    throw error;
  });
  if (there === undefined) return false;
  if (!there.isFile()) throw otherContent(target, 'what is there is not a regular file');
  if (there.size !== content.bytes) {
    throw otherContent(target, `there it holds ${there.size} bytes, here ${content.bytes}`);
  }
  const found = await digestOf(target, signal);
  if (found !== content.sha256)
    throw otherContent(target, `there its sha256 is ${found}, here ${content.sha256}`);
  return true;
}

/** A new name is durable once its directory is; some file systems (FUSE, SMB) have no such call. */
export async function syncDirectory(path: string): Promise<void> {
  const directory = await open(path, constants.O_RDONLY | constants.O_DIRECTORY);
  try {
    await directory.sync();
  } catch (error) {
    if (!NO_LINKS.has(errnoOf(error) ?? '')) throw error;
  } finally {
    await directory.close();
  }
}

/**
 * Without links: writers of one name exclude each other by a claim, a hidden file made with O_EXCL, and the one
 * who has it looks and renames. A claim that a killed writer left is removed by `cleanUp`.
 */
async function renameUnderClaim(temp: string, target: string): Promise<boolean> {
  const claim = `${dirname(target)}/${claimName(target)}`;
  const held = await takeClaim(claim, target);
  try {
    await held.writeFile(tempName('claim'));
    const there = await lstat(target).then(
      () => true,
      (error: unknown) => {
        if (errnoOf(error) === 'ENOENT') return false;
        throw error;
      },
    );
    if (!there) await rename(temp, target);
    return !there;
  } finally {
    await held.close();
    await unlink(claim);
  }
}

async function takeClaim(claim: string, target: string): Promise<FileHandle> {
  for (let tries = 1; ; tries++) {
    try {
      return await open(claim, 'wx', 0o600);
    } catch (error) {
      if (errnoOf(error) !== 'EEXIST') throw error;
      if (tries === CLAIM_TRIES) throw claimed(target, claim);
    }
    await sleep(CLAIM_WAIT_MS);
  }
}

/** Equal for all writers of a name, unlike the name of an unfinished file. */
function claimName(target: string): string {
  return `.claim-${createHash('sha256').update(basename(target)).digest('hex').slice(0, 32)}`;
}

async function digestOf(path: string, signal: AbortSignal | undefined): Promise<string> {
  const digest = createHash('sha256');
  const chunk = Buffer.allocUnsafeSlow(READ_CHUNK_BYTES);
  const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW);
  try {
    for (;;) {
      throwIfCancelled(OP, path, signal);
      const { bytesRead } = await file.read(chunk, 0, chunk.length, null);
      if (bytesRead === 0) return digest.digest('hex');
      digest.update(chunk.subarray(0, bytesRead));
    }
  } catch (error) {
    throw localFault(OP, path, error);
  } finally {
    await file.close();
  }
}

function otherContent(target: string, how: string): BackupError {
  return new BackupError('EXISTS', `an object of this name has other content: ${how}`, {
    op: OP,
    object: target,
    hint: 'objects are never replaced; find out who else writes to this container and prefix',
  });
}

function claimed(target: string, claim: string): BackupError {
  return new BackupError('UNAVAILABLE', 'another writer is storing an object of this name', {
    op: OP,
    object: target,
    hint: `this is tried again; if no other writer runs, remove ${claim}`,
  });
}
