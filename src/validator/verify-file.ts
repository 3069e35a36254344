/** One plain snapshot file, as `etcdctl snapshot save` writes it, or (when allowed) a copy of member/snap/db. */
import { resolve } from 'node:path';
import { checkSnapshotFile } from '../native/index.js';
import type { DbVerdict, VerifyOptions } from './verdict.js';
import { checkPlain } from './verify-full.js';

export interface FileVerdict extends DbVerdict {
  readonly object: string;
}

/** The digest and the checks side by side; what the file is, when it is no snapshot, is told before anything else. */
export async function verifyFile(
  path: string,
  options: VerifyOptions & { readonly skipHashCheck: boolean },
): Promise<FileVerdict> {
  const file = resolve(path);
  const { signal } = options;
  const [digest, checked] = await Promise.allSettled([
    checkSnapshotFile(file, { allowMissingTrailer: options.skipHashCheck }, { signal }),
    checkPlain(file, undefined, options),
  ]);
  if (digest.status === 'rejected') throw digest.reason;
  if (checked.status === 'rejected') throw checked.reason;
  return { object: file, ...checked.value.db };
}
