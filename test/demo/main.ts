/**
 * `npm run demo`: the main job on a real etcd. A backup runs beside a write load (a full, then deltas), the etcd is
 * destroyed, restored, started again and compared with what it held. Everything lives in one temporary directory.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { etcdBinary } from '../servers/binaries.js';
import { startEtcd, type TestEtcd } from '../servers/etcd.js';
import { Load } from '../servers/load.js';
import { exited, removeTempDir, tempDir } from '../servers/process.js';
import { readTruth, type Truth, truthDifferences } from '../servers/truth.js';
import { demoEtcd } from './binary.js';

const LOAD_STEPS_BEFORE = 2_000;
const LOAD_STEPS_DURING = 3_000;
const SEED = 20_261_201;
const DELTA_PERIOD = '2s';

const program = fileURLToPath(new URL('../../dist/main.js', import.meta.url));
const startedMs = Date.now();

await main();

async function main(): Promise<void> {
  const version = demoEtcd(say);
  const dir = tempDir('demo');
  const etcd = await startEtcd(version);
  try {
    await demonstrate(etcd, join(dir, 'backups'));
  } finally {
    await etcd.destroy();
    await removeTempDir(dir);
  }
}

async function demonstrate(etcd: TestEtcd, container: string): Promise<void> {
  say(`etcd ${etcd.version} is up at ${etcd.endpoint}, its data in ${etcd.dataDir}`);
  const client = await etcd.open();
  const load = new Load(client, { seed: SEED, compactBehind: 1_000 });
  await load.run(LOAD_STEPS_BEFORE);
  say(`${LOAD_STEPS_BEFORE} writes made: puts, transactions, deletes, leases, compactions (seed ${SEED})`);

  const store = ['--storage-provider', 'Local', '--store-container', container];
  const backup = run([
    'snapshot',
    '--endpoints',
    etcd.endpoint,
    '--delta-snapshot-period',
    DELTA_PERIOD,
    ...store,
  ]);
  await sawLine(backup, 'full snapshot of revision');
  say('the full is stored; writing on while deltas are taken');
  await load.run(LOAD_STEPS_DURING);
  const truth = await readTruth(client);
  backup.kill('SIGTERM');
  await succeeded(backup, 'the backup');
  say(`SIGTERM: the last delta is flushed; etcd stood at revision ${truth.revision}`);
  await succeeded(run(['list', ...store], 'inherit'), 'list');

  await etcd.kill();
  client.close();
  await rm(etcd.dataDir, { recursive: true });
  say('etcd is killed and its data directory removed');
  await succeeded(
    run(
      ['restore', '--data-dir', etcd.dataDir, '--etcd-binary', etcdBinary(etcd.version), ...store],
      'inherit',
    ),
    'the restore',
  );

  await etcd.start();
  await prove(etcd, truth);
}

async function prove(etcd: TestEtcd, truth: Truth): Promise<void> {
  const client = await etcd.open();
  const restored = await readTruth(client, truth.revision);
  client.close();
  const differences = truthDifferences(withLeasesInUse(truth), withLeasesInUse(restored));
  if (differences.length > 0) throw new Error(`the restored etcd differs:\n${differences.join('\n')}`);
  say(`etcd runs again from the restored directory and equals what was lost:`);
  say(
    `  revision ${restored.revision}, ${restored.keys.length} keys (value, version, revisions, lease), ${withLeasesInUse(restored).leases.size} leases`,
  );
  say(`  HashKV ${restored.hash.hash} at compact revision ${restored.hash.compactRevision}`);
}

function run(args: readonly string[], stdout: 'inherit' | 'ignore' = 'ignore'): ChildProcess {
  say(`$ etcdbr ${args.join(' ')}`);
  const child = spawn(process.execPath, [program, ...args], { stdio: ['ignore', stdout, 'pipe'] });
  process.once('exit', () => child.kill('SIGKILL'));
  return child;
}

/** Waits for a log line; a backup that ends before it is a failure. */
async function sawLine(child: ChildProcess, text: string): Promise<void> {
  if (child.stderr === null) throw new Error('no stderr');
  await new Promise<void>((resolve, reject) => {
    const lines = createInterface({ input: child.stderr as NodeJS.ReadableStream });
    lines.on('line', (line) => {
      showLog(line);
      if (line.includes(text)) resolve();
    });
    child.once('exit', (code) => reject(new Error(`the backup ended with ${code} before its ${text}`)));
  });
}

async function succeeded(child: ChildProcess, what: string): Promise<void> {
  if (child.stderr !== null && child.stderr.listenerCount('data') === 0) {
    createInterface({ input: child.stderr }).on('line', showLog);
  }
  await exited(child);
  if (child.exitCode !== 0) throw new Error(`${what} ended with exit code ${child.exitCode}`);
}

/** Grants and revocations of leases without keys are in no watch; such a lease changes nothing for anybody. */
function withLeasesInUse(truth: Truth): Truth {
  const inUse = new Set(truth.keys.map(({ lease }) => lease));
  return { ...truth, leases: new Map([...truth.leases].filter(([id]) => inUse.has(id))) };
}

/** The program logs JSON where stderr is no terminal. */
function showLog(line: string): void {
  const text = line.startsWith('{') ? (JSON.parse(line) as { msg: string }).msg : line;
  process.stdout.write(`            ${text}\n`);
}

function say(text: string): void {
  process.stdout.write(`[${((Date.now() - startedMs) / 1000).toFixed(1).padStart(5)} s] ${text}\n`);
}
