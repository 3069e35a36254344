/**
 * A data directory of a stopped etcd, judged as the Go tool's initialisation judges it, without an etcd and without
 * writing to it (but with `repair`): volume, layout, lock, database, WAL and raft snapshots, and whether it knows as
 * much as the store. The first that fails decides the verdict; all problems of that step are told.
 */
import type { DataDirConfig } from '../../config/data-dir.js';
import { type DbInfo, repairWal, type WalRepair } from '../../native/index.js';
import type { Store } from '../../store/store.js';
import { checkPlain } from '../verify-full.js';
import { consequenceOf, statusOf } from './consequence.js';
import { type MemberPaths, readGuard, readLayout } from './layout.js';
import { lockMember } from './lock.js';
import { type MemberFacts, minorOf, readMember } from './member.js';
import { boundsOf, compareWithStore } from './revision.js';
import { readStoredEnd, type StoredEnd } from './stored-end.js';
import type { DataDirVerdict, GoStatus, Verdict } from './verdict.js';

export interface VerifyDataDirOptions {
  /** Undefined: nothing to compare with. */
  readonly store: Store | undefined;
  /** For the copy of a replay. */
  readonly tempDir: string;
  readonly signal?: AbortSignal | undefined;
  /** Share of the full check that is done. */
  readonly onProgress?: ((share: number) => void) | undefined;
}

type Config = Pick<DataDirConfig, 'dataDir' | 'walDir' | 'mode' | 'repair' | 'etcdBinary' | 'namespace'>;

/** Throws LOCKED while an etcd runs on it, and what the system refuses; all else is a verdict. */
export async function verifyDataDir(config: Config, options: VerifyDataDirOptions): Promise<DataDirVerdict> {
  const judgement = new Judgement(config, options.store?.location);
  const guard = await readGuard(config.dataDir, config.namespace);
  if (typeof guard !== 'string') return judgement.say('wrong volume', 'WrongVolumeMounted', [guard.wrong]);
  const layout = await readLayout(config.dataDir, config.walDir);
  if (options.store !== undefined) {
    judgement.stored = await readStoredEnd(options.store, {
      signal: options.signal,
      onWarning: (text) => judgement.notes.push(text),
    });
    if (judgement.stored?.note !== undefined) judgement.notes.push(judgement.stored.note);
  }
  if (layout.kind === 'nothing')
    return judgement.say('nothing there', layout.exists ? 'InvStruct' : 'NotExist', [layout.what]);
  if (layout.kind === 'incomplete') return judgement.say('damaged', 'InvStruct', [layout.what]);
  const lock = await lockMember(layout.paths.db, { dataDir: config.dataDir, signal: options.signal });
  try {
    return await judgeMember(judgement, layout.paths, config, options);
  } finally {
    lock.release();
  }
}

async function judgeMember(
  judgement: Judgement,
  paths: MemberPaths,
  config: Config,
  options: VerifyDataDirOptions,
): Promise<DataDirVerdict> {
  const { signal } = options;
  let member = await readMember(paths, { signal });
  if (config.repair) {
    judgement.repaired = await repairTail(paths, member, judgement);
    if (judgement.repaired !== undefined) member = await readMember(paths, { signal });
  }
  judgement.takeMember(member);
  const status = member.dbIsDamaged ? 'BoltDBCorrupt' : 'Corrupt';
  if (member.problems.length > 0) return judgement.say('damaged', status, member.problems);
  if (config.mode === 'full') {
    const { db } = await checkPlain(member.db, undefined, { signal, onProgress: options.onProgress });
    judgement.records = db.records;
    judgement.read.push('every page and record of the database');
    if (db.problems.length > 0) return judgement.say('damaged', 'Corrupt', db.problems);
  }
  const { stored: end } = judgement;
  const { info } = member;
  if (end === undefined || info === undefined) return judgement.say('ok', 'Valid', []);
  const request = {
    paths,
    member,
    info,
    end,
    etcdBinary: config.etcdBinary,
    tempDir: options.tempDir,
    signal,
  };
  const compared = await compareWithStore(request);
  judgement.revision = compared.revision;
  judgement.notes.push(...compared.notes);
  return judgement.say(compared.verdict, 'RevisionConsistencyError', compared.problems);
}

/** Only what etcd itself would cut off, and only where nothing else is wrong. */
async function repairTail(
  paths: MemberPaths,
  { wal, info, problems }: MemberFacts,
  judgement: Judgement,
): Promise<WalRepair | undefined> {
  if (wal.torn === null || problems.length > 0) {
    const why =
      problems.length > 0
        ? 'not repaired: it is damaged, not torn'
        : 'nothing to repair: the WAL is not torn';
    judgement.notes.push(why);
    return undefined;
  }
  return (await repairWal(paths.walDir, { minor: minorOf(info) })) ?? undefined;
}

/** The numbers of two restores are alike: only a person can tell. */
function isAsRestored({ consistentIndex, term }: DbInfo, { wal, members }: MemberFacts): boolean {
  const isUntouched = consistentIndex === BigInt(members) && term === 1n;
  return isUntouched && wal.begunByRestore === true && wal.beyond.most > 0n;
}

/** What was found so far. */
class Judgement {
  stored: StoredEnd | undefined;
  revision: DataDirVerdict['revision'];
  records: number | undefined;
  repaired: WalRepair | undefined;
  readonly notes: string[] = [];
  readonly read: string[] = [];
  #member: MemberFacts | undefined;

  constructor(
    private readonly config: Config,
    private readonly location: string | undefined,
  ) {}

  takeMember(member: MemberFacts): void {
    this.#member = member;
    const { info, wal } = member;
    if (info !== undefined) this.revision = boundsOf(info, member);
    if (info !== undefined && isAsRestored(info, member)) {
      this.notes.push(
        `the database is as a restore left it, and the WAL goes on for ${wal.beyond.entries} entries: right if etcd was killed in the moment of its first start, and the WAL of an earlier restore otherwise`,
      );
    }
    this.notes.push(...wal.warnings);
    if (wal.snapDb !== null)
      this.notes.push(`etcd would take ${wal.snapDb}, which its leader sent, as its database`);
    if (wal.torn !== null) {
      const { file, offset, what } = wal.torn;
      this.notes.push(
        `the WAL ends in a record that was not written whole (${file}, offset ${offset}: ${what}); etcd cuts it off when it starts, and so does --repair`,
      );
    }
    this.read.push(`the database's ends and small buckets`, `${wal.records} records of the WAL`);
    if (wal.snapFile !== null) this.read.push(`raft snapshot ${wal.snapFile}`);
  }

  say(verdict: Verdict, own: GoStatus, problems: readonly string[]): DataDirVerdict {
    const { dataDir, mode } = this.config;
    const stored = this.stored;
    const circumstances = {
      members: this.#member?.members ?? 1,
      storeIsEmpty: this.location === undefined ? undefined : stored === undefined,
    };
    return {
      ...{ dataDir, mode, verdict, problems },
      status: statusOf(verdict, own, circumstances),
      consequence: consequenceOf(verdict, circumstances),
      notes: this.notes,
      revision: this.revision,
      store:
        this.location === undefined
          ? undefined
          : {
              location: this.location,
              newest: stored && { object: stored.object, revision: stored.revision },
            },
      database: this.#member?.info,
      records: this.records,
      wal: this.#member?.wal,
      repaired: this.repaired,
      read: this.read,
    };
  }
}
