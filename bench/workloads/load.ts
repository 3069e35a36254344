/**
 * Puts at full speed: with nobody watching, with `etcdctl watch --prefix ''`, with our agent. Shows what a backup
 * costs the etcd, that no event is lost, and that the watcher never stays behind (hazard 43).
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { SetVerdict } from '../../src/validator/verdict.js';
import { blast } from '../../test/servers/blast.js';
import { startEtcd, type TestEtcd } from '../../test/servers/etcd.js';
import { exited, removeTempDir, tempDir } from '../../test/servers/process.js';
import type { Engine } from '../engines/engine.js';
import { PEER_VERSION } from '../engines/etcdbr.js';
import { measure, residentBytes } from '../measure.js';
import type { Run } from '../results.js';
import { type Bench, type Entry, memoryBar, race, ratioBar, type Workload } from './workload.js';

const SETTLE_MS = 2_000;
const SAMPLE_MS = 500;
const MAX_RSS_BYTES = 150e6;

export const load: Workload = {
  name: 'load',
  about: 'How many puts an etcd takes while it is backed up, and whether every one of them is in the backup.',
  timeShare: 4,
  async run(bench) {
    const { ours, etcdctl } = bench.engines;
    const alone: Entry = { name: 'nobody watches', role: 'floor', run: () => oneRound(undefined, bench) };
    const raced = await race(bench, [
      alone,
      ...[etcdctl, ours].map(
        (engine): Entry => ({ name: engine.name, role: engine.role, run: () => oneRound(engine, bench) }),
      ),
    ]);
    const bars = [
      ...ratioBar(
        'puts with the agent to puts with etcdctl watch',
        raced.contestants,
        { ours: ours.name, theirs: [etcdctl.name], atLeast: 0.95 },
        ({ rate = Number.NaN }) => rate,
      ),
      ...memoryBar('peak memory of the agent', raced.contestants, ours.name, MAX_RSS_BYTES),
    ];
    const input = `puts of 512 bytes to 100,000 keys (seed 1), 100 in flight, ${bench.size.loadSeconds} s, an etcd ${PEER_VERSION} that does not fsync`;
    return [{ title: 'Puts beside a watcher', input, rateUnit: 'puts/s', ...raced, bars }];
  },
};

async function oneRound(
  watcher: Engine | undefined,
  { engines, size }: Bench,
): Promise<Run & { readonly note?: string }> {
  const dir = tempDir('bench-load');
  const etcd = await startEtcd(PEER_VERSION, { flags: ['--quota-backend-bytes', '8589934592'] });
  const child = start(watcher, etcd.endpoint, dir);
  try {
    await sleep(SETTLE_MS);
    const watching = sample(etcd, child);
    const { puts, putsPerSecond, elapsedMs } = await blast(etcd.connection(), {
      seed: 1,
      keys: 100_000,
      valueBytes: 512,
      inFlight: 100,
      puts: Number.MAX_SAFE_INTEGER,
      signal: AbortSignal.timeout(size.loadSeconds * 1000),
    });
    const { slow, peakRssBytes } = watching.stop();
    child?.kill('SIGTERM');
    if (child !== undefined) await exited(child);
    const proof =
      watcher === engines.ours ? await proveNothingLost(engines.ours, dir, BigInt(puts) + 1n) : '';
    const note = [proof, slow ? 'etcd counted a slow watcher' : ''].filter(Boolean).join('; ');
    const figures = { wallMs: elapsedMs, rate: putsPerSecond, note };
    return watcher === undefined ? figures : { ...figures, peakRssBytes };
  } finally {
    child?.kill('SIGKILL');
    await etcd.destroy();
    await removeTempDir(dir);
  }
}

function start(watcher: Engine | undefined, endpoint: string, dir: string): ChildProcess | undefined {
  const job = watcher?.job({ verb: 'watch', endpoint, to: dir });
  return typeof job === 'object' ? spawn(job.command, job.args, { stdio: 'ignore' }) : undefined;
}

function sample(etcd: TestEtcd, child: ChildProcess | undefined) {
  let slow = false;
  let peakRssBytes = 0;
  const timer = setInterval(async () => {
    if (child?.pid !== undefined) peakRssBytes = Math.max(peakRssBytes, residentBytes(child.pid));
    const metrics = await (await fetch(`${etcd.endpoint}/metrics`)).text().catch(() => '');
    if (Number(/^etcd_debugging_mvcc_slow_watcher_total (\S+)/m.exec(metrics)?.[1] ?? 0) > 0) slow = true;
  }, SAMPLE_MS);
  return {
    stop: () => {
      clearInterval(timer);
      return { slow, peakRssBytes };
    },
  };
}

/** Every put was one revision: the verified chain must end at the last one. */
async function proveNothingLost(ours: Engine, dir: string, revision: bigint): Promise<string> {
  const job = ours.job({ verb: 'verify-store', set: { container: join(dir, 'store'), gardener: false } });
  if (typeof job !== 'object') throw new Error('this build has no command "verify"');
  const { stdout } = await measure({ ...job, args: [...job.args, '--json'] });
  const plan = (JSON.parse(stdout) as Pick<SetVerdict, 'chain'>).chain?.plan;
  const reached = plan?.kind === 'ready' ? plan.plan.revision : undefined;
  // As JSON has it, which keeps revisions in strings.
  if (String(reached) !== String(revision)) {
    throw new Error(`events are missing: etcd wrote up to ${revision}, the store reaches ${reached}`);
  }
  return `all ${revision} revisions verified in the store`;
}
