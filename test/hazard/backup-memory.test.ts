/**
 * Hazards 19 and 20 in short: large values and many of them, far more than the process may hold. Deltas are bounded
 * by bytes on disk, the full by its stream; neither shows in the memory of the process.
 */
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { exited, spawnBound } from '../servers/process.js';
import { Random } from '../servers/random.js';
import { proveSet } from '../snapshotter/prove-set.js';
import { setUp } from '../snapshotter/set-up.js';

const PUTS = Number(process.env.ETCDBR_BIG_PUTS ?? 150);
const VALUE_BYTES = 1_400_000;
const IN_FLIGHT = 4;
/** Growth over what the process (node, tsx and all) takes when it has done nothing yet. */
const MAX_GROWTH_BYTES = 120 * 1024 * 1024;
const program = fileURLToPath(new URL('../snapshotter/backup-process.ts', import.meta.url));

test(`${PUTS} values of 1.4 MB: the memory of the backup does not follow them`, async () => {
  const { etcd, endpoint, place } = await setUp('3.6.16');
  const flags = JSON.stringify({ 'delta-snapshot-period': '20s' });
  const args = ['--import', 'tsx', program, etcd.endpoint, place.container, place.tempDir, flags];
  const child = spawnBound(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  let told = '';
  child.stdout?.on('data', (chunk) => {
    told += chunk;
  });
  while (!told.includes('full-stored')) await sleep(50);
  const before = residentBytes(child.pid as number);
  const random = new Random(19);
  const value = random.bytes(VALUE_BYTES);
  const putAll = async (worker: number) => {
    for (let at = worker; at < PUTS; at += IN_FLIGHT) {
      value.writeUInt32LE(at, random.int(VALUE_BYTES - 4));
      await endpoint.kv.put({ key: Buffer.from(`big-${at % 20}`), value: Buffer.from(value) });
    }
  };
  await Promise.all(Array.from({ length: IN_FLIGHT }, (_, worker) => putAll(worker)));
  const after = residentBytes(child.pid as number);
  child.kill('SIGTERM');
  await exited(child);
  expect(child.exitCode).toBe(0);
  expect(after - before).toBeLessThan(MAX_GROWTH_BYTES);
  const { deltas } = await proveSet(place.store, etcd, endpoint);
  expect(deltas.length).toBeGreaterThan((PUTS * VALUE_BYTES) / (16 * 1024 * 1024));
}, 180_000);

/** Most that was ever resident. */
function residentBytes(pid: number): number {
  return Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) * 1024;
}
