/** Whether the restored database is written anew, and how: by flag, or because the base's own file is not worth keeping. */
import type { RestoreConfig } from '../config/restore.js';
import { keepsTombstonesAt } from '../snapshot/compaction-rule.js';
import type { Base } from './base.js';

export type Rewriting =
  | { readonly kind: 'pack'; readonly why: string }
  | { readonly kind: 'compact'; readonly why: string; readonly keepsTombstonesAt: boolean };

/** A base of which more is free is packed: its free pages would be copied, checked and backed up for ever. */
export const MAX_FREE_SHARE = 0.5;
/** Below so many free bytes it is not worth the writing. */
export const MIN_FREE_BYTES = 16 * 1024 * 1024;

export function rewritingOf(
  { pack, compact, etcdVersion }: Pick<RestoreConfig, 'pack' | 'compact' | 'etcdVersion'>,
  { object, shape }: Pick<Base, 'object' | 'shape'>,
): Rewriting | undefined {
  if (compact) {
    const version = etcdVersion ?? object.manifest?.serverVersion;
    return { kind: 'compact', why: '--compact', keepsTombstonesAt: keepsTombstonesAt(version) };
  }
  if (pack) return { kind: 'pack', why: '--pack' };
  if (!shape.sound) return { kind: 'pack', why: `the freelist of ${object.name.text} is damaged` };
  const { freeBytes, bytes } = shape;
  if (freeBytes < MIN_FREE_BYTES || freeBytes <= bytes * MAX_FREE_SHARE) return undefined;
  const share = Math.round((100 * freeBytes) / bytes);
  return { kind: 'pack', why: `${share}% of ${object.name.text} are free pages` };
}
