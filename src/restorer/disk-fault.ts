/** What the local file system refuses, as one of our codes. */
import { BackupError, type ErrorCode } from '../errors.js';

const CODES: Readonly<Record<string, ErrorCode>> = {
  ENOSPC: 'NO_SPACE',
  EDQUOT: 'NO_SPACE',
  EROFS: 'READ_ONLY',
  EACCES: 'PERMISSION',
  EPERM: 'PERMISSION',
};

const OF_A_RESTORE = {
  op: 'restore',
  hint: 'restore needs to write beside the data directory, on its file system',
};

export function diskFault(error: unknown, path: string, details = OF_A_RESTORE): unknown {
  const { code, message } = error as NodeJS.ErrnoException;
  if (error instanceof BackupError || code === undefined) return error;
  return new BackupError(CODES[code] ?? 'IO', `${message}`, {
    ...details,
    object: path,
    cause: error,
  });
}
