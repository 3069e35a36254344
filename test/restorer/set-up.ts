/** What the tests of restores share: a temp dir, an etcd with a recorder, and a look at what was restored. */
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, expect } from 'vitest';
import type { EtcdVersion } from '../servers/binaries.js';
import { type EtcdOptions, startEtcd } from '../servers/etcd.js';
import { removeTempDir, tempDir } from '../servers/process.js';
import { readTruth, type Truth, truthDifferences } from '../servers/truth.js';
import { Recorder } from './recorder.js';

const cleanups: (() => unknown)[] = [];

/** A fresh directory for each test; everything that was started ends with the test. */
export function testDir(label: string): { readonly path: string; in(name: string): string } {
  let path = '';
  beforeEach(() => {
    path = tempDir(label);
  });
  afterEach(async () => {
    for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
    await removeTempDir(path);
  });
  return {
    get path() {
      return path;
    },
    in: (name) => join(path, name),
  };
}

export function cleanUp(cleanup: () => unknown): void {
  cleanups.push(cleanup);
}

export async function recorded(
  version: EtcdVersion,
  dir: string,
  options: EtcdOptions = {},
  secs?: number,
): Promise<Recorder> {
  const etcd = await startEtcd(version, options);
  cleanUp(() => etcd.destroy());
  const recorder = await Recorder.open(etcd, dir, secs);
  cleanUp(() => recorder.close());
  return recorder;
}

/** Starts the restored directory and compares it whole; `leases: false` where the source has let some expire since. */
export async function expectRestored(
  version: EtcdVersion,
  dataDir: string,
  expected: Truth,
  { leases = true }: { readonly leases?: boolean } = {},
): Promise<void> {
  const etcd = await startEtcd(version, { dataDir });
  const endpoint = await etcd.open();
  try {
    const differences = truthDifferences(expected, await readTruth(endpoint, expected.revision));
    expect(differences.filter((line) => leases || !line.startsWith('lease '))).toEqual([]);
    expect((await endpoint.status()).revision).toBeGreaterThanOrEqual(expected.revision);
    await endpoint.kv.put({ key: Buffer.from('after'), value: Buffer.from('restore') });
  } finally {
    endpoint.close();
    await etcd.destroy();
  }
}

/** Nothing but these is in the directory. */
export async function expectOnly(dir: string, ...names: string[]): Promise<void> {
  expect((await readdir(dir)).sort()).toEqual([...names].sort());
}
