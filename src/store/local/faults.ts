/** What the operating system's error numbers mean for a store in a directory, and what its user can do about them. */
import { BackupError, type ErrorCode } from '../../errors.js';

interface Meaning {
  readonly code: ErrorCode;
  readonly what: string;
  readonly hint: string;
}

const NOT_FOUND: Meaning = {
  code: 'NOT_FOUND',
  what: 'no such object',
  hint: 'list the store to see what is there',
};
const NO_SPACE: Meaning = {
  code: 'NO_SPACE',
  what: 'the disk or the quota is full',
  hint: 'free space on this file system, shorten retention, or give another --store-container',
};
const PERMISSION: Meaning = {
  code: 'PERMISSION',
  what: 'permission denied',
  hint: 'give the user of this process read, write and search permission on the directory (and no immutable flag)',
};
const READ_ONLY: Meaning = {
  code: 'READ_ONLY',
  what: 'the file system is read-only',
  hint: 'mount it read-write; Linux also turns a file system read-only after disk errors, see the kernel log',
};
const UNAVAILABLE: Meaning = {
  code: 'UNAVAILABLE',
  what: 'the file system did not answer',
  hint: 'check the mount; this is tried again',
};
const TOO_MANY_FILES: Meaning = {
  code: 'UNAVAILABLE',
  what: 'too many open files',
  hint: 'raise the limit of open files (ulimit -n), or lower --max-fetchers',
};
const LINK: Meaning = {
  code: 'UNSUPPORTED',
  what: 'a symbolic link is in the way; links below the root of a Local store are not followed',
  hint: 'name the real directory in --store-container',
};

const MEANINGS: Readonly<Record<string, Meaning>> = {
  ENOENT: NOT_FOUND,
  ENOTDIR: NOT_FOUND,
  EISDIR: NOT_FOUND,
  ENOSPC: NO_SPACE,
  EDQUOT: NO_SPACE,
  EACCES: PERMISSION,
  EPERM: PERMISSION,
  EROFS: READ_ONLY,
  EAGAIN: UNAVAILABLE,
  EBUSY: UNAVAILABLE,
  EINTR: UNAVAILABLE,
  ESTALE: UNAVAILABLE,
  ETIMEDOUT: UNAVAILABLE,
  EHOSTDOWN: UNAVAILABLE,
  EMFILE: TOO_MANY_FILES,
  ENFILE: TOO_MANY_FILES,
  ELOOP: LINK,
};

/** Turns what `fs` threw into the store's error. `path` is the full name of the object or of its directory. */
export function localFault(op: string, path: string, error: unknown): BackupError {
  if (error instanceof BackupError) return error;
  const errno = errnoOf(error);
  const meaning = errno === undefined ? undefined : MEANINGS[errno];
  if (meaning === undefined) {
    const what = error instanceof Error ? error.message : String(error);
    return new BackupError('IO', what, {
      op,
      object: path,
      cause: error,
      hint: 'check the disk and the kernel log',
    });
  }
  const what = `${meaning.what} (${errno})`;
  return new BackupError(meaning.code, what, { op, object: path, hint: meaning.hint, cause: error });
}

/** As `localFault` for the way to an object that is being put: what is missing there is never "no such object". */
export function localPutFault(path: string, error: unknown): BackupError {
  const errno = errnoOf(error);
  if (errno === 'ENOTDIR' || errno === 'EEXIST') {
    return new BackupError('EXISTS', `a part of the way to it is not a directory (${errno})`, {
      op: 'store put',
      object: path,
      hint: 'move the file that is in the way',
      cause: error,
    });
  }
  if (errno === 'ENOENT') {
    return new BackupError('UNAVAILABLE', 'its directory or unfinished file was removed meanwhile (ENOENT)', {
      op: 'store put',
      object: path,
      hint: 'look for another process that cleans this directory; this is tried again',
      cause: error,
    });
  }
  return localFault('store put', path, error);
}

/** The file to be put, not the store, is at fault: never NOT_FOUND, which would speak of the object. */
export function sourceFault(path: string, error: unknown): BackupError {
  if (error instanceof BackupError) return error;
  const fault = localFault('store put', path, error);
  const code = fault.code === 'NOT_FOUND' ? 'IO' : fault.code;
  const what = `the file to be stored cannot be read (${errnoOf(error) ?? String(error)})`;
  return new BackupError(code, what, {
    op: 'store put',
    object: path,
    hint: 'the spool or temporary directory was changed while it was in use',
    cause: error,
  });
}

export function errnoOf(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined;
}
