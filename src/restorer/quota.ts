/** A database above etcd's quota starts with a NOSPACE alarm and takes no writes: told, never compacted without a word (hazard 18). */
import { formatBytes } from '../base/bytes.js';
import type { RestoreConfig } from '../config/restore.js';
import { BackupError } from '../errors.js';
import type { RestoreObserver } from './observer.js';

/** The largest quota that etcd's own documentation recommends. */
const RECOMMENDED_QUOTA_BYTES = 8 * 1024 ** 3;

/** Refuses a result above the quota that the user gave; without one there is only a warning. */
export function checkQuota(
  dbBytes: number,
  { quotaBytes, compact }: Pick<RestoreConfig, 'quotaBytes' | 'compact'>,
  observer: RestoreObserver,
): void {
  const size = `the restored database has ${formatBytes(dbBytes)}`;
  const smaller = compact ? '' : '--compact leaves only what is alive; or ';
  if (quotaBytes !== undefined && dbBytes > quotaBytes) {
    throw new BackupError('UNSUPPORTED', `${size}, more than --embedded-etcd-quota-bytes=${quotaBytes}`, {
      op: 'restore',
      object: 'restored database',
      hint: `${smaller}raise the flag and etcd's --quota-backend-bytes`,
    });
  }
  if (quotaBytes === undefined && dbBytes > RECOMMENDED_QUOTA_BYTES) {
    observer.warn(`${size}: ${smaller}start etcd with a --quota-backend-bytes above that`);
  }
}
