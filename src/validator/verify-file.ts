/** One plain snapshot file, as `etcdctl snapshot save` writes it, or (when allowed) a copy of member/snap/db. */
import { resolve } from 'node:path';
import { checkSnapshotFile } from '../native/index.js';
import type { ObjectVerdict, VerifyOptions } from './verdict.js';
import { verifyDbFile } from './verify-full.js';

export async function verifyFile(
  path: string,
  options: VerifyOptions & { readonly skipHashCheck: boolean },
): Promise<ObjectVerdict> {
  const file = resolve(path);
  await checkSnapshotFile(file, { allowMissingTrailer: options.skipHashCheck }, { signal: options.signal });
  const db = await verifyDbFile(file, options);
  return { object: file, ...db };
}
