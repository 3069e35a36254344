/** What a member's files say: its database, and what etcd would make of its WAL. Nothing is written. */
import { join } from 'node:path';
import { isDamaged } from '../../errors.js';
import { type DbInfo, identifyFile, inspectDb, surveyWal, type WalSurvey } from '../../native/index.js';
import type { MemberPaths } from './layout.js';

export interface MemberFacts {
  /** The file that etcd would use: `db`, or one that the leader sent. */
  readonly db: string;
  /** Undefined when it cannot be read; then the problems say why. */
  readonly info: DbInfo | undefined;
  readonly wal: WalSurvey;
  readonly members: number;
  readonly problems: readonly string[];
  /** Whether it is the database that is damaged. */
  readonly dbIsDamaged: boolean;
}

export interface ReadMemberOptions {
  readonly signal?: AbortSignal | undefined;
}

/** Before it, the database's `members` are not what counts, and stay the old ones after a restore. */
const FIRST_MINOR_WITH_MEMBERS = 5;

export async function readMember(paths: MemberPaths, options: ReadMemberOptions): Promise<MemberFacts> {
  const first = await readWith(paths, paths.db, options);
  const { snapDb } = first.wal;
  return snapDb === null ? first : readWith(paths, join(paths.snapDir, snapDb), options);
}

/** Of etcd 3; null when the database does not say. */
export function minorOf(info: Pick<DbInfo, 'storageVersion' | 'clusterVersion'> | undefined): number | null {
  const version = info?.storageVersion ?? info?.clusterVersion ?? '';
  const minor = /^3\.(\d+)/.exec(version)?.[1];
  return minor === undefined ? null : Number(minor);
}

async function readWith(paths: MemberPaths, db: string, { signal }: ReadMemberOptions): Promise<MemberFacts> {
  const inspected = await inspectOrDamage(db, signal);
  const info = 'damage' in inspected ? undefined : inspected;
  const wal = await surveyWal(
    {
      walDir: paths.walDir,
      snapDir: paths.snapDir,
      applied: info?.consistentIndex ?? 0n,
      appliedTerm: info?.term ?? null,
      revision: info?.revision ?? 1n,
      guarded: info === undefined || info.authEnabled || info.alarms.length > 0,
      minor: minorOf(info),
    },
    { signal },
  );
  const problems = 'damage' in inspected ? [inspected.damage] : memberProblems(inspected, wal);
  // Without a database nothing can be said of how the log fits it.
  if (info !== undefined || wal.problems.length === 0) problems.push(...wal.problems);
  return {
    ...{ db, info, wal, problems },
    members: countMembers(info, wal),
    dbIsDamaged: info === undefined,
  };
}

async function inspectOrDamage(
  db: string,
  signal: AbortSignal | undefined,
): Promise<DbInfo | { readonly damage: string }> {
  try {
    return await inspectDb(db, { signal });
  } catch (error) {
    if (!isDamaged(error)) throw error;
    const what = await identifyFile(db, { signal });
    return {
      damage: what === 'bbolt' ? error.message : `${db}: it is ${what}`,
    };
  }
}

/** A change of the membership that the database has not applied yet may be the one that added this member. */
function memberProblems(info: DbInfo, { memberId, beyond }: WalSurvey): string[] {
  const minor = minorOf(info);
  const isTold = info.term !== null && (minor === null || minor >= FIRST_MINOR_WITH_MEMBERS);
  const mayChange = beyond.byKind.some(({ kind }) => kind === 'membership');
  if (!isTold || mayChange || memberId === null || info.members.length === 0) return [];
  if (info.members.some(({ id }) => id === memberId)) return [];
  const ids = info.members.map(({ id }) => id).join(', ');
  return [
    `the WAL is that of member ${memberId}, the database knows ${ids}: they are of different clusters or members`,
  ];
}

/** The database counts when it knows this member; an old one's list stays in it after a restore by etcdctl 3.4. */
function countMembers(info: DbInfo | undefined, { memberId, confMembers }: WalSurvey): number {
  const listed = info?.members ?? [];
  const isOwn = listed.some(({ id }) => id === memberId);
  return isOwn ? listed.length : (confMembers ?? Math.max(listed.length, 1));
}
