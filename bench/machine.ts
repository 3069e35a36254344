/** What this machine is: figures without it mean nothing. */
import { execFile } from 'node:child_process';
import { mkdir, open, rm } from 'node:fs/promises';
import { cpus, loadavg, release, totalmem } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { bboltBinary, etcdBinary } from '../test/servers/binaries.js';
import { PEER_VERSION } from './engines/etcdbr.js';
import type { Machine } from './results.js';
import { median } from './statistics.js';

const run = promisify(execFile);
const WRITTEN_BYTES = 256 * 1024 ** 2;
const CHUNK_BYTES = 1024 * 1024;
const SMALL_BYTES = 4096;
const SMALL_WRITES = 50;

export async function describeMachine(dir: string): Promise<Machine> {
  await mkdir(dir, { recursive: true });
  const all = cpus();
  return {
    cpu: all[0]?.model.trim() ?? 'unknown',
    cores: all.length,
    memoryBytes: totalmem(),
    kernel: `Linux ${release()}`,
    loadAverage: loadavg()[0] ?? 0,
    ...(await diskFloor(join(dir, 'disk-floor'))),
    versions: {
      node: process.version,
      etcd: PEER_VERSION,
      commit: await firstLine('git', ['describe', '--always', '--dirty']),
      etcdutl: await firstLine(etcdBinary(PEER_VERSION, 'etcdutl'), ['version']),
      bbolt: await firstLine(bboltBinary(), ['version']),
      zstd: await firstLine('zstd', ['--version']),
      openssl: await firstLine('openssl', ['version']),
    },
  };
}

async function firstLine(command: string, args: readonly string[]): Promise<string> {
  try {
    const { stdout } = await run(command, [...args]);
    return stdout.split('\n')[0]?.trim() ?? '';
  } catch {
    return 'not there';
  }
}

async function diskFloor(path: string): Promise<Pick<Machine, 'diskBytesPerSecond' | 'fsyncMs'>> {
  const file = await open(path, 'w');
  try {
    const chunk = Buffer.alloc(CHUNK_BYTES, 0x5a);
    const startedMs = performance.now();
    for (let written = 0; written < WRITTEN_BYTES; written += CHUNK_BYTES) await file.write(chunk);
    await file.sync();
    const elapsedMs = performance.now() - startedMs;
    const syncs: number[] = [];
    for (let count = 0; count < SMALL_WRITES; count++) {
      await file.write(chunk, 0, SMALL_BYTES, count * SMALL_BYTES);
      const beforeMs = performance.now();
      await file.sync();
      syncs.push(performance.now() - beforeMs);
    }
    return { diskBytesPerSecond: (WRITTEN_BYTES * 1000) / elapsedMs, fsyncMs: median(syncs) };
  } finally {
    await file.close();
    await rm(path);
  }
}
