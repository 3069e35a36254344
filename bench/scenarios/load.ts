/**
 * Puts at full speed: with nobody watching, with `etcdctl watch --prefix ''`, with our agent. Shows what a backup
 * costs the etcd, that no event is lost, and that the watcher never stays behind (hazard 43).
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { formatBytes } from '../../src/base/bytes.js';
import { etcdBinary } from '../../test/servers/binaries.js';
import { blast } from '../../test/servers/blast.js';
import { startEtcd, type TestEtcd } from '../../test/servers/etcd.js';
import { exited, removeTempDir, tempDir } from '../../test/servers/process.js';
import { program } from '../datasets.js';
import { measure, median } from '../measure.js';

const VERSION = '3.5.35';
const SETTLE_MS = 2_000;
const SAMPLE_MS = 500;

interface Round {
  readonly putsPerSecond: number;
  readonly peakRssBytes: number;
  /** Share of samples in which etcd counted a slow watcher. */
  readonly slowShare: number;
  readonly note: string;
}

export async function load(seconds: number, rounds: number): Promise<string> {
  const results: Record<string, Round[]> = { alone: [], etcdctl: [], etcdbr: [] };
  for (let round = 0; round < rounds; round++) {
    for (const watcher of Object.keys(results)) results[watcher]?.push(await oneRound(watcher, seconds));
  }
  const puts = (watcher: string) =>
    median((results[watcher] ?? []).map(({ putsPerSecond }) => putsPerSecond));
  const rows = Object.entries(results).map(([watcher, runs]) => {
    const rss = formatBytes(Math.max(...runs.map(({ peakRssBytes }) => peakRssBytes)));
    const slow = Math.max(...runs.map(({ slowShare }) => slowShare));
    const share = (puts(watcher) / puts('etcdctl')).toFixed(2);
    return `| ${watcher} | ${Math.round(puts(watcher))} | ${share} | ${rss} | ${(slow * 100).toFixed(0)}% | ${runs.at(-1)?.note} |`;
  });
  return [
    '| watcher | puts/s, median | to etcdctl | its peak RSS | slow watcher seen | |',
    '|---|---|---|---|---|---|',
    ...rows,
  ].join('\n');
}

async function oneRound(watcher: string, seconds: number): Promise<Round> {
  const dir = tempDir('bench-load');
  const etcd = await startEtcd(VERSION, { fsync: false, flags: ['--quota-backend-bytes', '8589934592'] });
  const child = startWatcher(watcher, etcd.endpoint, dir);
  try {
    await sleep(SETTLE_MS);
    const watching = sample(etcd, child);
    const { puts, putsPerSecond } = await blast(etcd.connection(), {
      seed: 1,
      keys: 100_000,
      valueBytes: 512,
      inFlight: 100,
      puts: Number.MAX_SAFE_INTEGER,
      signal: AbortSignal.timeout(seconds * 1000),
    });
    const { slowShare, peakRssBytes } = watching.stop();
    child?.kill('SIGTERM');
    if (child !== undefined) await exited(child);
    const note = watcher === 'etcdbr' ? await proveNothingLost(dir, BigInt(puts) + 1n) : '';
    return { putsPerSecond, peakRssBytes, slowShare, note };
  } finally {
    child?.kill('SIGKILL');
    await etcd.destroy();
    await removeTempDir(dir);
  }
}

function startWatcher(watcher: string, endpoint: string, dir: string): ChildProcess | undefined {
  const options = { stdio: 'ignore' } as const;
  if (watcher === 'etcdctl') {
    return spawn(etcdBinary(VERSION, 'etcdctl'), ['--endpoints', endpoint, 'watch', '--prefix', ''], options);
  }
  if (watcher !== 'etcdbr') return undefined;
  const store = ['--store-container', join(dir, 'store'), '--snapstore-temp-directory', join(dir, 'tmp')];
  return spawn(program, ['snapshot', '--endpoints', endpoint, ...store], options);
}

function sample(etcd: TestEtcd, child: ChildProcess | undefined) {
  let samples = 0;
  let slow = 0;
  let peakRssBytes = 0;
  const timer = setInterval(async () => {
    if (child?.pid !== undefined) peakRssBytes = Math.max(peakRssBytes, residentBytes(child.pid));
    const metrics = await (await fetch(`${etcd.endpoint}/metrics`)).text().catch(() => '');
    samples += 1;
    if (Number(/^etcd_debugging_mvcc_slow_watcher_total (\S+)/m.exec(metrics)?.[1] ?? 0) > 0) slow += 1;
  }, SAMPLE_MS);
  return {
    stop: () => {
      clearInterval(timer);
      return { slowShare: samples === 0 ? 0 : slow / samples, peakRssBytes };
    },
  };
}

function residentBytes(pid: number): number {
  try {
    return Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) * 1024;
  } catch {
    return 0;
  }
}

/** Every put was one revision: the verified chain must end at the last one. */
async function proveNothingLost(dir: string, revision: bigint): Promise<string> {
  const args = [
    'verify',
    '--json',
    '--store-container',
    join(dir, 'store'),
    '--snapstore-temp-directory',
    join(dir, 'tmp'),
  ];
  const { stdout } = await measure(program, args);
  const { plan } = JSON.parse(stdout) as { plan: { kind: string; plan?: { revision: string } } };
  if (plan.kind !== 'ready' || plan.plan?.revision !== String(revision)) {
    throw new Error(
      `events are missing: etcd wrote up to ${revision}, the store reaches ${plan.plan?.revision}`,
    );
  }
  return `all ${revision} revisions verified in the store`;
}
