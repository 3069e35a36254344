/** Everything that can be said of one full without an etcd: digests, structure, mvcc records, HashKV. */
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { checkDb, checkMvcc, hashKv, inspectDb, type ReadCodec, unpackFull } from '../native/index.js';
import { download } from '../pipeline/download.js';
import type { StoredSnapshot } from '../snapshot/plan.js';
import type { Store } from '../store/store.js';
import { describeFindings, MAX_FINDINGS, THREADS } from './findings.js';
import type { ObjectVerdict, VerifyOptions } from './verdict.js';

/** A packed snapshot never unpacks to more than etcd could ever hold. */
export const MAX_PLAIN_BYTES = 1024 ** 4;

export async function verifyFull(
  store: Store,
  object: StoredSnapshot,
  workDir: string,
  options: VerifyOptions,
): Promise<ObjectVerdict> {
  const packed = join(workDir, object.name.text);
  const plain = `${packed}.plain`;
  try {
    await download(store, object, packed, options);
    const unpacked = await unpackFull(
      object.name.text,
      {
        source: packed,
        target: plain,
        codec: codecOf(object),
        stripTrailer: false,
        maxBytes: MAX_PLAIN_BYTES,
      },
      { signal: options.signal },
    );
    await rm(packed);
    const problems = compareDigests(object, unpacked.packedSha256, unpacked.trailer);
    const db = await verifyDbFile(plain, options);
    problems.push(...db.problems, ...(await compareManifest(object, plain, db, options)));
    return { object: object.name.text, revision: db.revision, records: db.records, problems };
  } finally {
    await Promise.all([packed, plain].map((path) => rm(path, { force: true })));
  }
}

export interface DbVerdict {
  readonly revision: bigint | undefined;
  readonly records: number | undefined;
  readonly problems: string[];
}

/** Structure first: what is read afterwards relies on it. */
export async function verifyDbFile(path: string, { signal }: VerifyOptions): Promise<DbVerdict> {
  const structure = await checkDb(path, { threads: THREADS, maxFindings: MAX_FINDINGS }, { signal });
  const problems = describeFindings('bbolt', structure.findings, structure.findingsTotal);
  if (!structure.readable) return { revision: undefined, records: undefined, problems };
  const mvcc = await checkMvcc(path, { maxFindings: MAX_FINDINGS }, { signal });
  problems.push(...describeFindings('mvcc', mvcc.findings, mvcc.findingsTotal));
  const info = await inspectDb(path, { signal });
  return { revision: info.revision, records: mvcc.records, problems };
}

function compareDigests(
  object: StoredSnapshot,
  sha256: string,
  trailer: 'good' | 'missing' | 'wrong',
): string[] {
  const problems: string[] = [];
  const stated = object.manifest?.sha256;
  if (stated !== undefined && stated !== sha256)
    problems.push(`its SHA-256 is ${sha256}, its manifest states ${stated}`);
  if (trailer === 'missing') problems.push('it lacks the SHA-256 at its end');
  if (trailer === 'wrong') problems.push('the SHA-256 at its end does not fit its bytes');
  return problems;
}

async function compareManifest(
  { manifest }: StoredSnapshot,
  plain: string,
  db: DbVerdict,
  { signal }: VerifyOptions,
): Promise<string[]> {
  if (manifest === undefined || db.revision === undefined) return [];
  const problems: string[] = [];
  if (manifest.revision !== db.revision) {
    problems.push(`it holds revision ${db.revision}, its manifest states ${manifest.revision}`);
  }
  if (manifest.hashKv !== undefined) {
    const found = await hashKv(plain, manifest.hashKv, { signal });
    if (found.comparable && found.hash !== manifest.hashKv.hash) {
      problems.push(
        `HashKV at revision ${found.revision} is ${found.hash}, its manifest states ${manifest.hashKv.hash}`,
      );
    }
  }
  return problems;
}

export function codecOf({ name }: StoredSnapshot): ReadCodec {
  return name.codec === 'ebd' ? 'none' : name.codec;
}
