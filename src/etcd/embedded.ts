/**
 * An etcd of our own for replaying deltas: a child process on unix sockets in a private directory, without fsync (the
 * result is synced once, by the restore), with limits as large as the data needs, gone when we are gone.
 */
import type { ChildProcess } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { raceAbort, sleep } from '../base/abort.js';
import { BackupError, isBackupError } from '../errors.js';
import { RawChannel } from './channel.js';
import type { EtcdConnection } from './connection.js';
import { CLIENT_LISTEN_URL, type EmbeddedDir, makeEmbeddedDir, PEER_LISTEN_URL } from './embedded-dir.js';
import { EtcdEndpoint } from './endpoint.js';
import { childEnv, type EtcdBinary } from './etcd-binary.js';
import { LogRing } from './log-ring.js';
import { spawnBoundToParent } from './parent-death.js';
import { decodeLeaseGrant, decodeTxnOutcome, encodeLeaseGrant, type TxnOutcome } from './proto.js';

export interface EmbeddedOptions {
  readonly binary: EtcdBinary;
  /** Absolute; holds a member directory of one member, or nothing. */
  readonly dataDir: string;
  /** Where the working directory with the sockets is made; the system's temp dir when not given. */
  readonly workParent?: string | undefined;
  readonly quotaBytes: number;
  /** The largest transaction that will be sent. */
  readonly maxRequestBytes: number;
  readonly maxTxnOps: number;
  /** GOMAXPROCS of the child; what Go makes of the machine when not given. */
  readonly maxProcs?: number | undefined;
  /** A large db takes its time to open. */
  readonly readyTimeoutMs: number;
  readonly signal?: AbortSignal | undefined;
}

export interface TxnOptions {
  readonly signal?: AbortSignal | undefined;
}

/** etcd keeps this many raft entries in memory; 3.4 and 3.5 would keep 100,000. */
const SNAPSHOT_COUNT = 5_000;
/** One member elects itself at once; the defaults take a second. */
const HEARTBEAT_MS = 20;
const ELECTION_MS = 200;
const READY_POLL_MS = 25;
const READY_CALL_MS = 2_000;
/** One transaction of hundreds of MB on a slow disk. */
const TXN_TIMEOUT_MS = 300_000;
const STOP_TIMEOUT_MS = 120_000;
const MEMORY_SAMPLE_MS = 1_000;
/** A call may fail a moment before the news that the process ended. */
const EXIT_NEWS_MS = 500;
const WINDOW_BYTES = 1024 * 1024;
const OP = 'replay';

/** Starts it and waits until it takes transactions. */
export async function startEmbedded(options: EmbeddedOptions): Promise<EmbeddedEtcd> {
  options.signal?.throwIfAborted();
  const dir = await makeEmbeddedDir(options.workParent);
  let child: ChildProcess;
  try {
    child = await spawnBoundToParent(options.binary.path, flags(options), {
      ...{ cwd: dir.path, env: environment(options), stdio: ['ignore', 'pipe', 'pipe'] },
    });
  } catch (cause) {
    await dir.remove();
    throw new BackupError('IO', 'cannot be started', { op: OP, object: options.binary.path, cause });
  }
  const connection = { endpoints: [dir.endpoint], connectionTimeoutMs: READY_CALL_MS };
  const channel = await RawChannel.open(connection, dir.endpoint, { windowBytes: WINDOW_BYTES });
  const etcd = new EmbeddedEtcd(options.binary.version, child, dir, channel, connection);
  try {
    await etcd.ready(options.readyTimeoutMs, options.signal);
    return etcd;
  } catch (error) {
    await etcd.kill();
    throw error;
  }
}

export class EmbeddedEtcd {
  readonly version: string;
  /** For `EtcdEndpoint` and other clients. */
  readonly connection: EtcdConnection;
  readonly #child: ChildProcess;
  readonly #dir: EmbeddedDir;
  readonly #channel: RawChannel;
  readonly #log = new LogRing();
  readonly #exited: Promise<void>;
  readonly #sampling: NodeJS.Timeout;
  #peakRssBytes = 0;

  constructor(
    version: string,
    child: ChildProcess,
    dir: EmbeddedDir,
    channel: RawChannel,
    connection: EtcdConnection,
  ) {
    this.version = version;
    this.connection = connection;
    this.#child = child;
    this.#dir = dir;
    this.#channel = channel;
    this.#log.take(child.stdout);
    this.#log.take(child.stderr);
    this.#exited = new Promise((resolve) => child.once('exit', () => resolve()));
    this.#sampling = setInterval(() => void this.peakRssBytes(), MEMORY_SAMPLE_MS);
    this.#sampling.unref();
  }

  get pid(): number | undefined {
    return this.#child.pid;
  }

  logTail(): string {
    return this.#log.tail();
  }

  /**
   * A ready TxnRequest. Many may be in flight, but etcd runs each on a goroutine of its own and keeps no order: with 64
   * in flight 1 in 20 came before its predecessor, with GOMAXPROCS 1 only the last of each burst came first.
   */
  async txn(request: Buffer, options: TxnOptions = {}): Promise<TxnOutcome> {
    return decodeTxnOutcome(await this.#unary('/etcdserverpb.KV/Txn', request, options));
  }

  async grantLease(id: bigint, ttlSeconds: bigint, options: TxnOptions = {}): Promise<void> {
    const answer = await this.#unary(
      '/etcdserverpb.Lease/LeaseGrant',
      encodeLeaseGrant(id, ttlSeconds),
      options,
    );
    const granted = decodeLeaseGrant(answer);
    if (granted.id === id) return;
    throw new BackupError('INTERNAL', `etcd granted lease ${granted.id}, asked for ${id}`, { op: OP });
  }

  /** Highest resident memory of the process so far, as the kernel counts it, mapped file pages included. */
  async peakRssBytes(): Promise<number> {
    const status = await readFile(`/proc/${this.#child.pid}/status`, 'utf8').catch(() => '');
    const kilobytes = Number(/^VmHWM:\s+(\d+) kB/m.exec(status)?.[1] ?? 0);
    this.#peakRssBytes = Math.max(this.#peakRssBytes, kilobytes * 1024);
    return this.#peakRssBytes;
  }

  async ready(timeoutMs: number, signal: AbortSignal | undefined): Promise<void> {
    const deadlineMs = performance.now() + timeoutMs;
    const endpoint = await EtcdEndpoint.open(this.connection, this.connection.endpoints[0] as string);
    try {
      while (!(await this.#serves(endpoint))) {
        if (this.#hasExited()) throw this.#ended('ended before it was ready');
        if (performance.now() > deadlineMs) {
          throw this.#ended(`is not ready after ${timeoutMs / 1000} s`, 'TIMEOUT');
        }
        await raceAbort(Promise.race([sleep(READY_POLL_MS), this.#exited]), signal);
      }
    } finally {
      endpoint.close();
    }
  }

  /** Lets etcd write everything and end. Throws when it did not end in order: its directory is then not to be used. */
  async stop(): Promise<void> {
    const before = this.#hasExited();
    await this.peakRssBytes();
    this.#channel.close();
    this.#child.kill('SIGTERM');
    const stopped = new AbortController();
    const patience = sleep(STOP_TIMEOUT_MS, { signal: stopped.signal }).then(
      () => 'late',
      () => undefined,
    );
    const late = await Promise.race([this.#exited, patience]);
    stopped.abort();
    const inOrder = this.#child.exitCode === 0 || this.#child.signalCode === 'SIGTERM';
    await this.kill();
    if (late === 'late') throw this.#ended(`did not stop within ${STOP_TIMEOUT_MS / 1000} s`, 'TIMEOUT');
    if (before || !inOrder) throw this.#ended('ended by itself');
  }

  /** Ends it at once; what it had not written is lost. */
  async kill(): Promise<void> {
    clearInterval(this.#sampling);
    this.#channel.close();
    this.#child.kill('SIGKILL');
    if (!this.#hasExited()) await this.#exited;
    await this.#dir.remove();
  }

  async #unary(method: string, request: Buffer, options: TxnOptions): Promise<Buffer> {
    try {
      return await this.#channel.unary(method, request, { timeoutMs: TXN_TIMEOUT_MS, ...options });
    } catch (error) {
      if (!isBackupError(error, 'UNAVAILABLE')) throw error;
      await Promise.race([this.#exited, sleep(EXIT_NEWS_MS)]);
      throw this.#hasExited() ? this.#ended('ended during the replay') : error;
    }
  }

  /**
   * A linearizable read: answered when there is a leader that has committed something, and all before is applied. Also
   * when it is refused for want of a user: etcd looks at that last.
   */
  async #serves(endpoint: EtcdEndpoint): Promise<boolean> {
    try {
      await endpoint.getAt(Buffer.from([0]), 0n, { timeoutMs: READY_CALL_MS });
      return true;
    } catch (error) {
      if (isBackupError(error, 'UNAVAILABLE') || isBackupError(error, 'TIMEOUT')) return false;
      if (isBackupError(error, 'PERMISSION')) return true;
      throw error;
    }
  }

  #hasExited(): boolean {
    return this.#child.exitCode !== null || this.#child.signalCode !== null;
  }

  #ended(what: string, code: 'IO' | 'TIMEOUT' = 'IO'): BackupError {
    const how = this.#child.exitCode ?? this.#child.signalCode;
    const status = how === null ? '' : ` (${how})`;
    return new BackupError(code, `${what}${status}; its last lines:\n${this.logTail()}`, {
      op: OP,
      object: `etcd ${this.version}`,
    });
  }
}

function environment({ maxProcs }: EmbeddedOptions): NodeJS.ProcessEnv {
  return maxProcs === undefined ? childEnv() : { ...childEnv(), GOMAXPROCS: String(maxProcs) };
}

function flags(options: EmbeddedOptions): string[] {
  return [
    ...['--name', 'default', '--data-dir', options.dataDir],
    ...['--listen-client-urls', CLIENT_LISTEN_URL, '--advertise-client-urls', CLIENT_LISTEN_URL],
    ...['--listen-peer-urls', PEER_LISTEN_URL, '--initial-advertise-peer-urls', PEER_LISTEN_URL],
    ...['--initial-cluster', `default=${PEER_LISTEN_URL}`],
    ...['--heartbeat-interval', String(HEARTBEAT_MS), '--election-timeout', String(ELECTION_MS)],
    ...['--snapshot-count', String(SNAPSHOT_COUNT), '--quota-backend-bytes', String(options.quotaBytes)],
    ...['--max-request-bytes', String(options.maxRequestBytes), '--max-txn-ops', String(options.maxTxnOps)],
    ...[
      '--auto-compaction-retention',
      '0',
      '--logger',
      'zap',
      '--log-level',
      'warn',
      '--log-outputs',
      'stderr',
    ],
    ...(options.binary.unsafeNoFsync ? ['--unsafe-no-fsync'] : []),
  ];
}
