/**
 * `verify --trial-restore`: the newest state is restored as `restore` does it, into a temporary directory; a real etcd
 * starts from it and is asked; everything is removed again.
 */
import { mkdir, mkdtemp, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { formatDuration } from '../base/duration.js';
import { parseRestoreConfig } from '../config/restore.js';
import { BackupError, isBackupError } from '../errors.js';
import { type EtcdBinary, probeEtcdBinary } from '../etcd/etcd-binary.js';
import { bootAndAsk, type TrialAnswers } from '../etcd/trial.js';
import { type DbInfo, hashKv, inspectDb, prepareReplayBase, writeMemberDir } from '../native/index.js';
import { checkReadable } from '../restorer/replay-version.js';
import { type RestoreResult, restore } from '../restorer/restore.js';
import type { CommandContext } from './command.js';
import type { OpenedStore } from './store-access.js';

export interface TrialOptions {
  readonly etcdBinary: string | undefined;
}

export interface TrialReport extends TrialAnswers {
  /** The restored one, which was asked about. */
  readonly restoredRevision: bigint;
  /** Why the hashes could not be compared; undefined: they are equal. */
  readonly hashNotCompared: string | undefined;
  /** Nobody can ask without a password: users and passwords were switched off in the copy that was started. */
  readonly authSwitchedOff: boolean;
  readonly restoreMs: number;
}

/** As the flags of `src/etcd/embedded.ts` have it. */
const TRIAL_CLUSTER = { name: 'default', initialCluster: 'default=http://localhost:2380', token: 'trial' };
const DEFAULT_ETCD = 'etcd';

/** MISMATCH when the etcd does not start, or says something else than what was restored. */
export async function trialRestore(
  context: CommandContext,
  opened: OpenedStore,
  options: TrialOptions,
): Promise<TrialReport> {
  const binary = await probeEtcdBinary(options.etcdBinary ?? DEFAULT_ETCD);
  const { tempDir } = opened.config;
  await mkdir(tempDir, { recursive: true, mode: 0o700 });
  const dir = await mkdtemp(join(tempDir, 'etcdbr-trial-'));
  try {
    const result = await restoreInto(join(dir, 'data'), context, opened, binary);
    const { proof, elapsedMs: restoreMs } = result;
    const restored = await readRestored(join(dir, 'data'), context.signal);
    checkReadable(restored.info, binary);
    const { answers, authSwitchedOff } = await start(dir, restored, binary, context.signal);
    const hashNotCompared = compare(restored, proof.liveKeys, answers);
    const { revision: restoredRevision } = restored.info;
    return { ...answers, restoredRevision, hashNotCompared, authSwitchedOff, restoreMs };
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
}

export function trialLine(report: TrialReport): string {
  const {
    etcdVersion,
    restoredRevision,
    hashKv: hash,
    hashNotCompared,
    keys,
    alarms,
    authSwitchedOff,
  } = report;
  const parts = [
    `trial restore: an etcd ${etcdVersion} serves revision ${restoredRevision} with ${keys} keys`,
    hashNotCompared ?? `HashKV ${hash.hash} as computed from the file`,
    report.takesWrites ? 'it takes writes' : `alarms ${alarms.join(', ')} forbid writing`,
    ...(authSwitchedOff ? ['authentication was switched off for the question'] : []),
    `restored in ${duration(report.restoreMs)}, up in ${duration(report.bootMs)}, removed again`,
  ];
  return parts.join('; ');
}

function restoreInto(
  dataDir: string,
  { program, log, progress, signal }: CommandContext,
  { store, config }: OpenedStore,
  { path }: EtcdBinary,
): Promise<RestoreResult> {
  const given = new Map([['data-dir', [dataDir]]]);
  return restore({
    ...parseRestoreConfig(given),
    ...{ store, settings: config, etcdBinary: path, command: `${program} restore`, signal },
    observer: {
      progress: (stage, done, total, unit) => progress.update(`trial: ${stage}`, done, total, unit),
      warn: (text) => log.warn(`trial restore: ${text}`),
      info: (text) => log.info(`trial restore: ${text}`),
    },
  });
}

interface Restored {
  readonly dataDir: string;
  readonly dbPath: string;
  readonly dbBytes: number;
  readonly info: DbInfo;
  readonly hash: Awaited<ReturnType<typeof hashKv>>;
}

/** Before any etcd has touched it. */
async function readRestored(dataDir: string, signal: AbortSignal): Promise<Restored> {
  const dbPath = join(dataDir, 'member', 'snap', 'db');
  const info = await inspectDb(dbPath, { signal });
  const { revision, compactRevision } = info;
  const hash = await hashKv(dbPath, { revision, compactRevision }, { signal });
  return { dataDir, dbPath, dbBytes: (await stat(dbPath)).size, info, hash };
}

async function start(
  dir: string,
  { dataDir, dbPath, dbBytes, info }: Restored,
  binary: EtcdBinary,
  signal: AbortSignal,
): Promise<{ answers: TrialAnswers; authSwitchedOff: boolean }> {
  const authSwitchedOff = info.authEnabled;
  const started = authSwitchedOff ? join(dir, 'without-auth') : dataDir;
  if (authSwitchedOff) await copyWithoutAuth(dbPath, started, binary, signal);
  try {
    const asked = { binary, dataDir: started, dbBytes, revision: info.revision, signal };
    return { answers: await bootAndAsk(asked), authSwitchedOff };
  } catch (error) {
    if (signal.aborted) throw error;
    // The same etcd starts from what it wrote itself, so what it does not start from is wrong.
    const isAnswer = isBackupError(error) && error.code !== 'TIMEOUT';
    throw isAnswer ? failed(`no etcd starts from it: ${error.message}`) : error;
  }
}

async function copyWithoutAuth(
  source: string,
  dataDir: string,
  binary: EtcdBinary,
  signal: AbortSignal,
): Promise<void> {
  const member = join(dataDir, 'member');
  await mkdir(join(member, 'snap'), { recursive: true, mode: 0o700 });
  const target = join(member, 'snap', 'db');
  const seat = { cluster: TRIAL_CLUSTER, targetVersion: binary.version };
  await prepareReplayBase({ source, target, ...seat }, { signal });
  await writeMemberDir(member, TRIAL_CLUSTER, binary.version, { signal });
}

/** Why the hashes cannot be compared; throws for everything that differs. */
function compare({ info, hash }: Restored, liveKeys: number, answers: TrialAnswers): string | undefined {
  const { revision, keys, members, hashKv: answered, takesWrites } = answers;
  if (revision < info.revision)
    throw failed(`the etcd is at revision ${revision}, restored was ${info.revision}`);
  if (keys !== liveKeys) throw failed(`the etcd has ${keys} keys, restored were ${liveKeys}`);
  if (members.length !== 1) throw failed(`the etcd lists ${members.length} members, expected is one`);
  if (takesWrites === false) throw failed('the etcd does not give back what was written');
  if (!hash.comparable) return 'no key is alive, so HashKV says nothing';
  if (answered.compactRevision !== hash.compactRevision)
    return `HashKV is not compared: the etcd went on with a compaction at ${answered.compactRevision}`;
  if (answered.hash !== hash.hash)
    throw failed(`HashKV of the etcd is ${answered.hash}, of the restored file ${hash.hash}`);
  return undefined;
}

function failed(what: string): BackupError {
  return new BackupError('MISMATCH', what, {
    op: 'trial restore',
    hint: 'do not rely on this backup; please report this with the output of `verify`',
  });
}

function duration(ms: number): string {
  return formatDuration(Math.round(ms / 100) * 100);
}
