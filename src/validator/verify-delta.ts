/** Everything that can be said of one delta alone: digests, blocks, order, times, and that its name tells the truth. */
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { type DeltaSummary, deltaLastEvent, verifyDelta as readThrough } from '../native/index.js';
import { download } from '../pipeline/download.js';
import type { SnapshotName } from '../snapshot/name.js';
import type { StoredSnapshot } from '../snapshot/plan.js';
import type { Store } from '../store/store.js';
import { compareDelta } from './compare-manifest.js';
import type { ObjectFindings, VerifyOptions } from './verdict.js';

const FETCHED = 0.5;

/** A delta that is sound stays at `keepAt` as it lies in the store, when that is given. */
export async function verifyDelta(
  store: Store,
  object: StoredSnapshot,
  workDir: string,
  options: VerifyOptions & { readonly keepAt?: string | undefined },
): Promise<ObjectFindings> {
  const { signal, onProgress, keepAt } = options;
  const { name, manifest } = object;
  const path = keepAt ?? join(workDir, name.text);
  let kept = false;
  try {
    await download(store, object, path, {
      signal,
      onProgress: (bytes) => onProgress?.((FETCHED * bytes) / Math.max(object.bytes, 1)),
    });
    const { summary, header } = await readThrough(name.text, path, { signal });
    const problems = nameProblems(name, summary);
    if (manifest !== undefined) {
      const last = manifest.lastRecord && (await deltaLastEvent(name.text, path, { signal }));
      problems.push(...compareDelta(manifest, summary, last));
    }
    kept = problems.length === 0 && keepAt !== undefined;
    const named = header?.predecessorName ?? '';
    return {
      revision: summary.lastRevision,
      records: summary.events,
      problems,
      sha256: summary.sha256,
      predecessor: named === '' ? undefined : { name: named, sha256: header?.predecessorSha256 ?? undefined },
    };
  } finally {
    if (!kept) await rm(path, { force: true });
  }
}

export function nameProblems(
  { start, last }: SnapshotName,
  { firstRevision, lastRevision }: Pick<DeltaSummary, 'firstRevision' | 'lastRevision'>,
): string[] {
  const problems: string[] = [];
  if (firstRevision !== start)
    problems.push(`it begins at revision ${firstRevision}, its name says ${start}`);
  if (lastRevision !== last) problems.push(`it ends at revision ${lastRevision}, its name says ${last}`);
  return problems;
}
