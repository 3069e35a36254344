/** An etcd of our own on a directory that was restored for a trial: started in private, asked, ended. */
import { raceAbort, sleep } from '../base/abort.js';
import { BackupError } from '../errors.js';
import type { CallLimits } from './call-pool.js';
import { startEmbedded } from './embedded.js';
import { EtcdEndpoint, type KvHash, type Member } from './endpoint.js';
import type { EtcdBinary } from './etcd-binary.js';

export interface TrialOptions {
  readonly binary: EtcdBinary;
  /** Absolute; it is written to. */
  readonly dataDir: string;
  readonly dbBytes: number;
  /** What is asked about. */
  readonly revision: bigint;
  readonly signal?: AbortSignal | undefined;
}

export interface TrialAnswers {
  readonly etcdVersion: string;
  /** The current one: leases that ran out meanwhile may have raised it. */
  readonly revision: bigint;
  readonly hashKv: KvHash;
  /** At the revision that was asked about. */
  readonly keys: number;
  readonly members: readonly Member[];
  /** "NOSPACE" and the like. */
  readonly alarms: readonly string[];
  /** A key was written, read and deleted; undefined where an alarm forbids writing. */
  readonly takesWrites: boolean | undefined;
  readonly bootMs: number;
}

/** Of everything after the start; HashKV reads all keys. */
const ASK_FLOOR_MS = 60_000;
const READY_FLOOR_MS = 60_000;
/** etcd reads its whole db when it starts, and again for a hash; this is a slow disk. */
const BYTES_PER_MS = 10_000;
const QUOTA_FLOOR_BYTES = 8 * 1024 ** 3;
const MAX_REQUEST_BYTES = 2 * 1024 * 1024;
const MAX_TXN_OPS = 128;
/** No user's: it is written to a copy, but may be seen in a log. */
const TRIAL_KEY = Buffer.from('\0etcdbr trial restore');

export async function bootAndAsk(options: TrialOptions): Promise<TrialAnswers> {
  const { binary, dataDir, dbBytes, signal } = options;
  const startedMs = performance.now();
  const etcd = await startEmbedded({
    ...{ binary, dataDir, signal, quotaBytes: QUOTA_FLOOR_BYTES + 2 * dbBytes },
    ...{ maxRequestBytes: MAX_REQUEST_BYTES, maxTxnOps: MAX_TXN_OPS },
    readyTimeoutMs: READY_FLOOR_MS + dbBytes / BYTES_PER_MS,
  });
  try {
    const bootMs = performance.now() - startedMs;
    const timeoutMs = ASK_FLOOR_MS + dbBytes / BYTES_PER_MS;
    const endpoint = await EtcdEndpoint.open(etcd.connection, etcd.connection.endpoints[0] as string);
    const done = new AbortController();
    try {
      const late = sleep(timeoutMs, { signal: done.signal }).then(() => Promise.reject(tooLate(timeoutMs)));
      late.catch(() => undefined);
      const answers = ask(endpoint, options.revision, timeoutMs);
      return {
        etcdVersion: etcd.version,
        bootMs,
        ...(await raceAbort(Promise.race([answers, late]), signal)),
      };
    } finally {
      done.abort();
      endpoint.close();
    }
  } finally {
    await etcd.kill();
  }
}

async function ask(
  endpoint: EtcdEndpoint,
  revision: bigint,
  timeoutMs: number,
): Promise<Omit<TrialAnswers, 'bootMs' | 'etcdVersion'>> {
  const limits: CallLimits = { timeoutMs };
  const hashKv = await endpoint.hashKv(revision, limits);
  const all = { key: Buffer.from([0]), range_end: Buffer.from([0]), count_only: true };
  const { count } = await endpoint.kv.range({ ...all, revision: String(revision) }, limits);
  const status = await endpoint.status(limits);
  const members = await endpoint.memberList(limits);
  const alarms = (await endpoint.alarms(limits)).map(({ kind }) => kind);
  const takesWrites = alarms.length > 0 ? undefined : await writeAndRead(endpoint, limits);
  return { revision: status.revision, hashKv, keys: Number(count), members, alarms, takesWrites };
}

async function writeAndRead(endpoint: EtcdEndpoint, limits: CallLimits): Promise<boolean> {
  const value = Buffer.from(String(Date.now()));
  await endpoint.kv.put({ key: TRIAL_KEY, value }, limits);
  const found = await endpoint.getAt(TRIAL_KEY, 0n, limits);
  await endpoint.kv.deleteRange({ key: TRIAL_KEY }, limits);
  return found?.value.equals(value) === true;
}

function tooLate(timeoutMs: number): BackupError {
  return new BackupError('TIMEOUT', `does not answer within ${Math.round(timeoutMs / 1000)} s`, {
    op: 'trial restore',
  });
}
