/**
 * kill -9 of a restore at random moments (hazard 37, R7): the data directory is the old one or the new one, never a mix;
 * the next start finishes or cleans up; no process, socket or file is left. ETCDBR_KILLS=50 is the full form.
 */
import { execFileSync } from 'node:child_process';
import { mkdir, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { inspectDb } from '../../src/native/index.js';
import { APPLIERS, type ApplierName, fixture, restoreFrom } from '../restorer/request.js';
import { cleanUp, testDir } from '../restorer/set-up.js';
import { etcdBinary } from '../servers/binaries.js';
import { startEtcd } from '../servers/etcd.js';
import { exited, spawnBound } from '../servers/process.js';
import { Random } from '../servers/random.js';

const KILLS = Number(process.env.ETCDBR_KILLS ?? 5);
const SEED = Number(process.env.ETCDBR_SEED ?? 37);
const OLD_REVISION = 2981n;
const NEW_REVISION = 2989n;
const program = fileURLToPath(new URL('../../dist/main.js', import.meta.url));
const dir = testDir('killed');
const version = '3.5.35';

function start(dataDir: string, applier: ApplierName) {
  const flags = { applier, 'data-dir': dataDir, 'store-container': fixture('gardener-gzip-etcd3.5/store') };
  const args = Object.entries({ ...flags, 'etcd-binary': etcdBinary(version) }).map(
    ([name, value]) => `--${name}=${value}`,
  );
  return spawnBound(process.execPath, [program, 'restore', ...args], { stdio: ['ignore', 'ignore', 'pipe'] });
}

async function revisionOf(dataDir: string): Promise<bigint> {
  return (await inspectDb(join(dataDir, 'member/snap/db'))).revision;
}

/** Pids whose command line or working directory lies below `path`. */
async function processesBelow(path: string): Promise<string[]> {
  const found: string[] = [];
  for (const pid of (await readdir('/proc')).filter((name) => /^\d+$/.test(name))) {
    const line = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '');
    if (line.includes(path) && Number(pid) !== process.pid)
      found.push(`${pid} ${line.replaceAll('\0', ' ')}`);
  }
  return found;
}

async function ourTempFiles(): Promise<string[]> {
  return (await readdir(tmpdir())).filter((name) => /^etcdbr-(replay-|[A-Za-z0-9]{6}$)/.test(name)).sort();
}

async function killRepeatedly(dataDir: string, applier: ApplierName): Promise<void> {
  const random = new Random(SEED);
  const before = await ourTempFiles();
  await restoreFrom({ container: fixture('gardener-plain-etcd3.4/store'), dataDir, version: '3.4.23' });
  const took = await timeOf(dataDir, applier);
  for (let round = 0; round < KILLS; round++) {
    const restoring = start(dataDir, applier);
    await sleep(random.int(took * 1.1));
    restoring.kill('SIGKILL');
    await exited(restoring);
    // The kernel tells the child of our end; give it a moment to go.
    for (let waited = 0; waited < 40 && (await processesBelow(dir.path)).length > 0; waited++)
      await sleep(50);
    expect(await processesBelow(dir.path)).toEqual([]);
    const mayBeMissing = await revisionOf(dataDir).catch(() => undefined);
    if (mayBeMissing !== undefined) expect([OLD_REVISION, NEW_REVISION]).toContain(mayBeMissing);
  }
  const last = start(dataDir, applier);
  let said = '';
  last.stderr?.on('data', (chunk) => {
    said += chunk;
  });
  await exited(last);
  expect(last.exitCode, said).toBe(0);
  expect(await revisionOf(dataDir)).toBe(NEW_REVISION);
  const etcd = await startEtcd(version, { dataDir });
  await etcd.destroy();
  expect(await ourTempFiles()).toEqual(before);
}

/** Of one restore to its end, into a place of its own. */
async function timeOf(dataDir: string, applier: ApplierName): Promise<number> {
  const started = performance.now();
  const probe = start(`${dataDir}-probe`, applier);
  await exited(probe);
  expect(probe.exitCode).toBe(0);
  const took = performance.now() - started;
  await rm(`${dataDir}-probe`, { recursive: true });
  return took;
}

describe.each(APPLIERS)('%s applier', (applier) => {
  test(`a plain directory, killed ${KILLS} times`, async () => {
    await killRepeatedly(dir.in('data'), applier);
    const left = (await readdir(dir.path)).filter((name) => !/^data(\.before-\d+)?$/.test(name));
    expect(left).toEqual([]);
  }, 900_000);

  test(`a mount point, killed ${KILLS} times`, async () => {
    const dataDir = dir.in('mnt');
    await mkdir(dataDir);
    execFileSync('mount', ['-t', 'tmpfs', 'etcdbr-test', dataDir]);
    cleanUp(() => execFileSync('umount', [dataDir]));
    await killRepeatedly(dataDir, applier);
    const left = (await readdir(dataDir)).filter(
      (name) => !/^member(\.before-\d+)?$|^etcdbr-restored.json$/.test(name),
    );
    expect(left).toEqual([]);
  }, 900_000);
});
