/** Everything that can be said of one full without an etcd: digests, structure, mvcc records, HashKV. */
import { rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { checkDb, checkMvcc, hashKv, inspectDb } from '../native/index.js';
import type { Manifest } from '../snapshot/manifest.js';
import type { StoredSnapshot } from '../snapshot/plan.js';
import type { Store } from '../store/store.js';
import { allOrFirstFailure } from './all-or-first-failure.js';
import { compareFull } from './compare-manifest.js';
import { describeFindings, MAX_FINDINGS, THREADS } from './findings.js';
import { receiveFull } from './receive-full.js';
import type { DbVerdict, ObjectFindings, VerifyOptions } from './verdict.js';

/** Share of the time that an object takes, roughly, until it is there. The rest are the checks. */
const RECEIVED = 0.6;
const SMALLEST_PAGE_BYTES = 4096;

/** A full that is sound stays at `keepAt`, plain, when that is given; every other file is removed. */
export async function verifyFull(
  store: Store,
  object: StoredSnapshot,
  workDir: string,
  options: VerifyOptions & { readonly keepAt?: string | undefined },
): Promise<ObjectFindings> {
  const { signal, onProgress, keepAt } = options;
  const plain = keepAt ?? join(workDir, object.name.text);
  let kept = false;
  try {
    const unpacked = await receiveFull(store, object, plain, {
      signal,
      onProgress: (bytes) => onProgress?.((RECEIVED * bytes) / Math.max(object.bytes, 1)),
    });
    const checked = await checkPlain(plain, object.manifest?.hashKv, {
      signal,
      onProgress: (share) => onProgress?.(RECEIVED + (1 - RECEIVED) * share),
    });
    const problems = [...trailerProblems(unpacked.trailer), ...checked.db.problems];
    if (object.manifest !== undefined)
      problems.push(...compareFull(object.manifest, object, unpacked, checked));
    kept = problems.length === 0 && keepAt !== undefined;
    const { revision, records } = checked.db;
    return { revision, records, problems, sha256: unpacked.packedSha256, predecessor: undefined };
  } finally {
    if (!kept) await rm(plain, { force: true });
  }
}

export interface CheckedPlain {
  readonly db: DbVerdict;
  readonly info: Awaited<ReturnType<typeof inspectDb>> | undefined;
  readonly hash: Awaited<ReturnType<typeof hashKv>> | undefined;
}

/**
 * Structure, records and HashKV side by side: each reads the file by itself, all of them together are as long as the
 * longest where there are processors for them. What the others say of a file that cannot be read is not told.
 */
export async function checkPlain(
  path: string,
  stated: Manifest['hashKv'],
  { signal, onProgress }: VerifyOptions,
): Promise<CheckedPlain> {
  const pages = Math.max(1, (await stat(path)).size / SMALLEST_PAGE_BYTES);
  const structure = await checkDb(
    path,
    { threads: THREADS, maxFindings: MAX_FINDINGS },
    { signal, onProgress: (done) => onProgress?.(Math.min(0.5, done / pages / 2)) },
  );
  const problems = describeFindings('bbolt', structure.findings, structure.findingsTotal);
  if (!structure.readable) {
    return { db: { revision: undefined, records: undefined, problems }, info: undefined, hash: undefined };
  }
  const [mvcc, info, hash] = await allOrFirstFailure([
    checkMvcc(path, { maxFindings: MAX_FINDINGS }, { signal }),
    inspectDb(path, { signal }),
    stated === undefined ? undefined : hashKv(path, stated, { signal }),
  ]);
  problems.push(...describeFindings('mvcc', mvcc.findings, mvcc.findingsTotal));
  return { db: { revision: info.revision, records: mvcc.records, problems }, info, hash };
}

export function trailerProblems(trailer: 'good' | 'missing' | 'wrong'): string[] {
  if (trailer === 'missing') return ['it lacks the SHA-256 at its end'];
  return trailer === 'wrong' ? ['the SHA-256 at its end does not fit its bytes'] : [];
}
