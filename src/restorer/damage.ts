import { type BackupError, isBackupError, isDamaged } from '../errors.js';

/** The object is damaged, or it is gone: another way around it may exist. Everything else stops the restore. */
export function isDamage(error: unknown): error is BackupError {
  return isDamaged(error) || isBackupError(error, 'NOT_FOUND');
}
