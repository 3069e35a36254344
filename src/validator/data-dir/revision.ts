/** Whether a member knows as much as the store: by bounds first, by a replay in a copy where these do not tell. */
import { type BackupError, isBackupError } from '../../errors.js';
import { probeEtcdBinary } from '../../etcd/etcd-binary.js';
import { type DbInfo, recordAt } from '../../native/index.js';
import type { LastRecord } from '../../snapshot/manifest.js';
import type { MemberPaths } from './layout.js';
import { type MemberFacts, minorOf } from './member.js';
import { replayRevision } from './replay.js';
import type { StoredEnd } from './stored-end.js';
import type { RevisionFacts, Verdict } from './verdict.js';

export interface Comparison {
  readonly verdict: Extract<Verdict, 'ok' | 'behind the store' | 'another history' | 'cannot be decided'>;
  readonly revision: RevisionFacts;
  readonly problems: readonly string[];
  readonly notes: readonly string[];
}

export interface CompareRequest {
  readonly paths: MemberPaths;
  readonly member: MemberFacts;
  readonly info: DbInfo;
  readonly end: StoredEnd;
  readonly etcdBinary: string | undefined;
  readonly tempDir: string;
  readonly signal?: AbortSignal | undefined;
}

/** What the WAL can have made of the database's revision. With several members only what is committed counts. */
export function boundsOf(info: DbInfo, { wal, members }: MemberFacts): RevisionFacts {
  const { least, leastCommitted, most } = wal.beyond;
  return {
    database: info.revision,
    least: info.revision + (members > 1 ? leastCommitted : least),
    most: info.revision + most,
  };
}

export async function compareWithStore(request: CompareRequest): Promise<Comparison> {
  const { member, info, end } = request;
  const revision = boundsOf(info, member);
  const ok = { verdict: 'ok', revision, problems: [], notes: [] } as const;
  if (await isOtherHistory(request)) {
    const problem = `the store's ${end.object} ends with a record at revision ${end.revision} that this database has otherwise: they are two histories`;
    return { ...ok, verdict: 'another history', problems: [problem] };
  }
  if (revision.least >= end.revision) return ok;
  if (member.members > 1) {
    const note = `it may be behind the store's revision ${end.revision}; a member of ${member.members} gets what it lacks from its leader`;
    return { ...ok, notes: [note] };
  }
  if (revision.most < end.revision) return { ...ok, ...behind(revision.most, end) };
  return decideByReplay(request, revision);
}

function behind(reached: bigint, { object, revision }: StoredEnd) {
  const problem = `it ends at revision ${reached}, the store's ${object} at ${revision}: revisions ${reached + 1n} to ${revision} are missing`;
  return { verdict: 'behind the store' as const, problems: [problem] };
}

async function decideByReplay(request: CompareRequest, bounds: RevisionFacts): Promise<Comparison> {
  const { etcdBinary, info, member, end } = request;
  const undecided = (why: string): Comparison => ({
    verdict: 'cannot be decided',
    revision: bounds,
    problems: [
      `after its WAL it is at a revision of ${bounds.least} to ${bounds.most}, the store's ${end.object} at ${end.revision}: ${why}`,
    ],
    notes: [],
  });
  if (etcdBinary === undefined) {
    return undecided(
      'only an etcd that replays the WAL in a temporary copy can tell; give one with --etcd-binary',
    );
  }
  const binary = await probeEtcdBinary(etcdBinary);
  const [own, needed] = [Number(binary.version.split('.')[1]), minorOf(info)];
  if (needed !== null && own < needed) {
    return undecided(`the etcd ${binary.version} is too old to read what an etcd 3.${needed} wrote`);
  }
  try {
    const replayed = await replayRevision({ ...request, binary });
    const revision = { ...bounds, replayed };
    const notes = [`etcd ${binary.version} replayed ${member.wal.beyond.entries} entries in a copy`];
    if (replayed >= end.revision) return { verdict: 'ok', revision, problems: [], notes };
    return { ...behind(replayed, end), revision, notes };
  } catch (error) {
    if (!isBackupError(error, 'IO') && !isBackupError(error, 'TIMEOUT')) throw error;
    return undecided(`the replay in a copy failed: ${(error as BackupError).message}`);
  }
}

/** Equal numbers do not make equal histories. Only a record that is there, and differs, tells. */
async function isOtherHistory({ member, info, end, signal }: CompareRequest): Promise<boolean> {
  const { record, revision } = end;
  const mayBeGone = revision <= info.scheduledCompactRevision;
  if (record === undefined || mayBeGone || revision > info.revision) return false;
  const found = await recordAt(member.db, revision, { signal });
  return found === null || !isSame(found, record);
}

function isSame(found: NonNullable<Awaited<ReturnType<typeof recordAt>>>, record: LastRecord): boolean {
  return (
    found.sha256 === record.sha256 &&
    found.tombstone === record.tombstone &&
    found.key.toString('base64') === record.keyBase64
  );
}
