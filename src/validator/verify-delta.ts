/** Everything that can be said of one delta alone: digests, blocks, order, and that its name tells the truth. */
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { verifyDelta as readThrough } from '../native/index.js';
import { download } from '../pipeline/download.js';
import type { StoredSnapshot } from '../snapshot/plan.js';
import type { Store } from '../store/store.js';
import type { ObjectVerdict, VerifyOptions } from './verdict.js';

export async function verifyDelta(
  store: Store,
  object: StoredSnapshot,
  workDir: string,
  options: VerifyOptions,
): Promise<ObjectVerdict> {
  const { name } = object;
  const path = join(workDir, name.text);
  try {
    await download(store, object, path, options);
    const { summary } = await readThrough(name.text, path, { signal: options.signal });
    const problems: string[] = [];
    if (summary.firstRevision !== name.start) {
      problems.push(`it begins at revision ${summary.firstRevision}, its name says ${name.start}`);
    }
    if (summary.lastRevision !== name.last) {
      problems.push(`it ends at revision ${summary.lastRevision}, its name says ${name.last}`);
    }
    return { object: name.text, revision: summary.lastRevision, records: summary.events, problems };
  } finally {
    await rm(path, { force: true });
  }
}
