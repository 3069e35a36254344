/** The proof that a built database is what base and deltas say, made before anything of the target is touched. */
import { availableParallelism } from 'node:os';
import { together } from '../base/together.js';
import { BackupError } from '../errors.js';
import {
  checkDb,
  checkMvcc,
  type DbInfo,
  hashKv,
  inspectDb,
  proveRecords,
  type RecordCheckpoint,
  recordAt,
  type UnknownLeases,
  unknownLeases,
} from '../native/index.js';
import type { StoredSnapshot } from '../snapshot/plan.js';
import { describe } from './base.js';
import type { RestoreObserver } from './observer.js';

export interface ProofRequest {
  readonly dbPath: string;
  readonly baseRevision: bigint;
  readonly revision: bigint;
  readonly checkpoints: readonly RecordCheckpoint[];
  /** Keys that must be alive, where that is known. */
  readonly liveKeys?: number | undefined;
  /** Everything in the store: manifests of fulls on the way state what HashKV was. */
  readonly objects: readonly StoredSnapshot[];
  readonly observer: RestoreObserver;
  readonly signal?: AbortSignal | undefined;
}

export interface Proof {
  readonly info: DbInfo;
  readonly liveKeys: number;
  /** Records above the base that were compared with the deltas. */
  readonly records: number;
  /** Revisions at which a stated HashKV was found. */
  readonly hashes: readonly bigint[];
  readonly unknownLeases: UnknownLeases;
}

const MAX_FINDINGS = 5;

export async function prove(request: ProofRequest): Promise<Proof> {
  await checkStructure(request);
  // Two readers, as many as there are processors at least; each has a key table, so no more than two.
  const [liveKeys, content] = await together(request.signal, [
    (signal) => checkHistory({ ...request, signal }),
    (signal) => proveContent({ ...request, signal }),
  ]);
  if (request.liveKeys !== undefined && request.liveKeys !== liveKeys) {
    throw mismatch(`${liveKeys} keys are alive, the compaction left ${request.liveKeys}`);
  }
  return { liveKeys, ...content };
}

/** Structure and history; returns the number of live keys. */
export async function checkWhole(request: CheckRequest): Promise<number> {
  await checkStructure(request);
  return checkHistory(request);
}

type CheckRequest = Pick<ProofRequest, 'dbPath' | 'observer' | 'signal'>;

async function proveContent(request: ProofRequest): Promise<Omit<Proof, 'liveKeys'>> {
  const { dbPath, baseRevision, revision, checkpoints, signal } = request;
  const info = await inspectDb(dbPath, { signal });
  if (info.revision !== revision) {
    throw mismatch(`it ends at revision ${info.revision}, expected is ${revision}`);
  }
  const { records } =
    checkpoints.length === 0
      ? { records: 0 }
      : await proveRecords(dbPath, { after: baseRevision, checkpoints }, { signal });
  const hashes = await proveHashes(request, info);
  return { info, records, hashes, unknownLeases: await unknownLeases(dbPath, { signal }) };
}

async function checkStructure({ dbPath, observer, signal }: CheckRequest): Promise<void> {
  const onProgress = (pages: number) => observer.progress('check result', pages, undefined, 'pages');
  const request = { threads: availableParallelism(), maxFindings: MAX_FINDINGS };
  const structure = await checkDb(dbPath, request, { signal, onProgress });
  const found = describe(structure.findings, structure.findingsTotal);
  if (!structure.readable) throw mismatch(found);
  if (structure.findingsTotal > 0) observer.warn(`restored database: ${found}; its records are whole`);
}

async function checkHistory({ dbPath, signal }: CheckRequest): Promise<number> {
  const mvcc = await checkMvcc(dbPath, { maxFindings: MAX_FINDINGS }, { signal });
  if (mvcc.findingsTotal > 0) throw mismatch(describe(mvcc.findings, mvcc.findingsTotal));
  return mvcc.liveKeys;
}

/**
 * A full of another history may state a HashKV at the same revision. So a full counts only when its last record
 * stands in the result, equal in key and value; then its hash must be equal too.
 */
async function proveHashes(
  { dbPath, objects, signal, ...range }: ProofRequest,
  info: DbInfo,
): Promise<bigint[]> {
  const proven: bigint[] = [];
  for (const { name, manifest } of objects) {
    const stated = manifest?.hashKv;
    const last = manifest?.lastRecord;
    if (stated === undefined || last === undefined || stated.revision > range.revision) continue;
    if (stated.revision < range.baseRevision || stated.compactRevision < info.compactRevision) continue;
    const record = await recordAt(dbPath, last.modRevision, { signal });
    if (record?.sha256 !== last.sha256 || record.key.toString('base64') !== last.keyBase64) continue;
    const found = await hashKv(dbPath, stated, { signal });
    if (!found.comparable) continue;
    if (found.hash !== stated.hash) {
      throw mismatch(
        `HashKV at revision ${stated.revision} is ${found.hash}, the manifest of ${name.text} states ${stated.hash}`,
      );
    }
    proven.push(stated.revision);
  }
  return proven;
}

function mismatch(what: string): BackupError {
  return new BackupError('MISMATCH', what, {
    op: 'prove',
    object: 'restored database',
    hint: 'nothing was changed; please report this with the output of `verify`',
  });
}
