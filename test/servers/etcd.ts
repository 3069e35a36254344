/** A real etcd of a given version for tests, demo and benchmarks: start, stop, kill, restart, ask, remove. */
import { type ChildProcess, execFile } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { isBackupError } from '../../src/errors.js';
import { type EtcdConnection, usesTls } from '../../src/etcd/connection.js';
import { EtcdEndpoint } from '../../src/etcd/endpoint.js';
import { type EtcdVersion, etcdBinary } from './binaries.js';
import { freePorts } from './ports.js';
import { exited, removeTempDir, spawnBound, tempDir } from './process.js';
import type { TlsFiles } from './tls.js';

export interface EtcdOptions {
  /** An existing (for example a restored) directory; else an empty one that goes away with `destroy`. */
  readonly dataDir?: string;
  readonly flags?: readonly string[];
  /** Serves https, and asks clients for a certificate of the CA when `clientCertAuth`. */
  readonly tls?: TlsFiles;
  readonly clientCertAuth?: boolean;
  /** Every write synced to disk; off by default: a killed etcd loses nothing without it, a killed machine would. */
  readonly fsync?: boolean;
  readonly readyTimeoutMs?: number;
  /** Runs a copy of the program that this user may execute, as this user. */
  readonly as?: { readonly uid: number; readonly gid: number; readonly binary: string };
  /** One of several; else a cluster of one. */
  readonly member?: MemberFlags;
}

export interface MemberFlags {
  readonly name: string;
  readonly peerUrl: string;
  readonly initialCluster: string;
  /** Joins a cluster that is there. */
  readonly joins?: boolean;
}

const READY_TIMEOUT_MS = 30_000;
const STOP_TIMEOUT_MS = 20_000;
const PORT_TRIES = 5;
const CONNECTION_TIMEOUT_MS = 5_000;

export async function startEtcd(version: EtcdVersion, options: EtcdOptions = {}): Promise<TestEtcd> {
  const etcd = new TestEtcd(version, options);
  try {
    await etcd.start();
  } catch (error) {
    await etcd.destroy();
    throw error;
  }
  return etcd;
}

export class TestEtcd {
  readonly version: EtcdVersion;
  readonly dir: string;
  readonly dataDir: string;
  readonly #options: EtcdOptions;
  #child: ChildProcess | undefined;
  #ports: number[] = [];
  #user: { username: string; password: string } | undefined;

  constructor(version: EtcdVersion, options: EtcdOptions) {
    this.version = version;
    this.dir = tempDir(`etcd-${version}`);
    this.dataDir = options.dataDir ?? join(this.dir, 'data');
    this.#options = options;
  }

  get clientPort(): number {
    return this.#ports[0] as number;
  }

  get endpoint(): string {
    return `${this.#options.tls === undefined ? 'http' : 'https'}://127.0.0.1:${this.clientPort}`;
  }

  get pid(): number | undefined {
    return this.#child?.pid;
  }

  /** For `EtcdClient`, `openWatch` and friends. */
  connection(change: Partial<EtcdConnection> = {}): EtcdConnection {
    const { tls, clientCertAuth } = this.#options;
    return {
      endpoints: [this.endpoint],
      connectionTimeoutMs: CONNECTION_TIMEOUT_MS,
      ...(tls === undefined ? {} : { cacert: tls.cacert }),
      ...(tls !== undefined && clientCertAuth === true ? { cert: tls.clientCert, key: tls.clientKey } : {}),
      ...this.#user,
      ...change,
    };
  }

  open(change: Partial<EtcdConnection> = {}): Promise<EtcdEndpoint> {
    return EtcdEndpoint.open(this.connection(change), this.endpoint);
  }

  /** Starts on the ports that it had before, if any: clients find it again. */
  async start(flags: readonly string[] = []): Promise<void> {
    if (this.#ports.length > 0) return this.#startOnce(flags);
    for (let tried = 1; ; tried++) {
      this.#ports = await freePorts(2);
      try {
        return await this.#startOnce(flags);
      } catch (error) {
        if (tried === PORT_TRIES || !/address already in use/.test(String(error))) throw error;
      }
    }
  }

  async stop(): Promise<void> {
    const child = this.#child;
    if (child === undefined) return;
    child.kill('SIGTERM');
    const late = setTimeout(() => child.kill('SIGKILL'), STOP_TIMEOUT_MS);
    await exited(child);
    clearTimeout(late);
    this.#child = undefined;
  }

  /** kill -9. */
  async kill(): Promise<void> {
    this.#child?.kill('SIGKILL');
    if (this.#child !== undefined) await exited(this.#child);
    this.#child = undefined;
  }

  async restart(flags: readonly string[] = []): Promise<void> {
    await this.stop();
    await this.start(flags);
  }

  /** Ends the process and removes everything that was made here. */
  async destroy(): Promise<void> {
    await this.kill();
    await removeTempDir(this.dir);
  }

  /** etcdctl of the same version against this etcd; its standard output. */
  ctl(...args: string[]): Promise<string> {
    const { tls, clientCertAuth } = this.#options;
    const flags = ['--endpoints', this.endpoint];
    if (tls !== undefined) flags.push('--cacert', tls.cacert);
    if (tls !== undefined && clientCertAuth === true)
      flags.push('--cert', tls.clientCert, '--key', tls.clientKey);
    if (this.#user !== undefined) flags.push('--user', `${this.#user.username}:${this.#user.password}`);
    return runEtcdctl(this.version, [...flags, ...args]);
  }

  /** Creates the user root and switches auth on; every later `connection()` and `ctl()` uses it. */
  async enableAuth(password = 'secret'): Promise<void> {
    await this.ctl('user', 'add', `root:${password}`);
    await this.ctl('user', 'grant-role', 'root', 'root').catch(async () => {
      await this.ctl('role', 'add', 'root');
      await this.ctl('user', 'grant-role', 'root', 'root');
    });
    await this.ctl('auth', 'enable');
    this.#user = { username: 'root', password };
  }

  /** As whom every later `connection()` and `ctl()` logs in; nobody when not given. */
  actAs(user?: { readonly username: string; readonly password: string }): void {
    this.#user = user;
  }

  async logTail(lines = 20): Promise<string> {
    const log = await readFile(join(this.dir, 'etcd.log'), 'utf8').catch(() => '');
    return log.trimEnd().split('\n').slice(-lines).join('\n');
  }

  async #startOnce(flags: readonly string[]): Promise<void> {
    const log = openSync(join(this.dir, 'etcd.log'), 'w');
    const args = [...this.#flags(), ...(this.#options.flags ?? []), ...flags];
    const { binary, ...user } = this.#options.as ?? { binary: etcdBinary(this.version) };
    this.#child = spawnBound(binary, args, { stdio: ['ignore', log, log], cwd: this.dir, ...user });
    closeSync(log);
    await this.#ready(this.#child);
  }

  #flags(): string[] {
    const { tls, clientCertAuth, fsync, member } = this.#options;
    const peer = member?.peerUrl ?? `http://127.0.0.1:${this.#ports[1]}`;
    return [
      ...['--name', member?.name ?? 'test', '--data-dir', this.dataDir, '--logger', 'zap'],
      ...['--listen-client-urls', this.endpoint, '--advertise-client-urls', this.endpoint],
      ...[
        '--listen-peer-urls',
        peer,
        '--initial-advertise-peer-urls',
        peer,
        '--initial-cluster',
        member?.initialCluster ?? `test=${peer}`,
      ],
      ...(member?.joins === true ? ['--initial-cluster-state', 'existing'] : []),
      ...(tls === undefined ? [] : ['--cert-file', tls.serverCert, '--key-file', tls.serverKey]),
      ...(tls !== undefined && clientCertAuth ? ['--trusted-ca-file', tls.cacert, '--client-cert-auth'] : []),
      ...(fsync === true ? [] : ['--unsafe-no-fsync']),
    ];
  }

  async #ready(child: ChildProcess): Promise<void> {
    const connection = this.connection({ username: undefined, connectionTimeoutMs: 1_000 });
    if (usesTls(connection, this.endpoint) && connection.cacert === undefined)
      throw new Error('TLS without a CA');
    const endpoint = await EtcdEndpoint.open(connection, this.endpoint);
    const deadline = performance.now() + (this.#options.readyTimeoutMs ?? READY_TIMEOUT_MS);
    try {
      while (!(await serves(endpoint))) {
        const ended = child.exitCode ?? child.signalCode;
        const what =
          ended !== null ? `ended (${ended})` : performance.now() > deadline ? 'is not ready' : undefined;
        if (what !== undefined) throw new Error(`etcd ${this.version} ${what}:\n${await this.logTail()}`);
        await sleep(50);
      }
    } finally {
      endpoint.close();
    }
  }
}

/** With a leader, or refusing us only because we are nobody. */
async function serves(endpoint: EtcdEndpoint): Promise<boolean> {
  try {
    return (await endpoint.status()).leaderId !== 0n;
  } catch (error) {
    return isBackupError(error, 'PERMISSION') && !/TLS|certificate/i.test(error.message);
  }
}

export async function runEtcdctl(version: EtcdVersion, args: readonly string[]): Promise<string> {
  return run(etcdBinary(version, 'etcdctl'), args);
}

export async function runEtcdutl(version: EtcdVersion, args: readonly string[]): Promise<string> {
  return run(etcdBinary(version, 'etcdutl'), args);
}

/** `snapshot restore` by the version's own tool: etcdctl for 3.4, etcdutl for newer ones. */
export async function restoreByTool(version: EtcdVersion, snapshot: string, dataDir: string): Promise<void> {
  const args = ['snapshot', 'restore', snapshot, '--data-dir', dataDir];
  await (version.startsWith('3.4.') ? runEtcdctl(version, args) : runEtcdutl(version, args));
}

async function run(program: string, args: readonly string[]): Promise<string> {
  const env = { ...process.env, ETCDCTL_API: '3' };
  const { stdout } = await promisify(execFile)(program, args, { env, maxBuffer: 256 * 1024 * 1024 });
  return stdout;
}
