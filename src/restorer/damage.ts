import type { BackupError, ErrorCode } from '../errors.js';

/** The object's bytes are at fault, or it is gone: another way around it may exist. Everything else stops the restore. */
const DAMAGE: readonly ErrorCode[] = [
  'CORRUPT',
  'TRUNCATED',
  'CHECKSUM',
  'NOT_SORTED',
  'REVISION_GAP',
  'UNSUPPORTED',
  'NOT_FOUND',
];

export function isDamage(error: BackupError): boolean {
  return DAMAGE.includes(error.code);
}
