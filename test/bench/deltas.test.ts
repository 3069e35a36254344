/** Made deltas must be what an etcd could have sent: a benchmark on nonsense measures nothing. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { type WrittenDelta, writeDeltas } from '../../bench/datasets/deltas.js';
import { exportDelta, verifyDelta } from '../../src/native/index.js';
import { parseName } from '../../src/snapshot/name.js';
import { removeTempDir, tempDir } from '../servers/process.js';

const dirs: string[] = [];
afterEach(async () => {
  for (const dir of dirs.splice(0)) await removeTempDir(dir);
});

async function written(seed: number, events: number): Promise<{ dir: string; deltas: WrittenDelta[] }> {
  const dir = tempDir('bench-deltas');
  dirs.push(dir);
  const deltas: WrittenDelta[] = [];
  const plan = { seed, firstRevision: 1001, events, createdSecs: 1_700_000_000 };
  await writeDeltas(dir, plan, async (delta) => void deltas.push(delta));
  return { dir, deltas };
}

test('they continue each other from the base on, one revision for each put', async () => {
  const { deltas } = await written(1, 30_500);
  let next = 1001n;
  for (const { name, path, summary } of deltas) {
    expect(parseName(name)).toMatchObject({ ok: true, name: { start: next, last: summary.lastRevision } });
    expect(summary.firstRevision).toBe(next);
    expect((await verifyDelta(name, path)).summary.sha256).toBe(summary.sha256);
    next = summary.lastRevision + 1n;
  }
  expect(deltas.length).toBe(2);
  expect(next).toBe(1001n + 30_500n);
});

test('versions and create revisions follow from the history', async () => {
  const { dir, deltas } = await written(1, 12_000);
  const [delta] = deltas as [WrittenDelta];
  const target = join(dir, 'x.json');
  await exportDelta(delta.name, { source: delta.path, target, compression: 'none' });
  const known = new Map<string, { create: number; version: number }>();
  let overwritten = 0;
  const lines = eventsOf(await readFile(target));
  for (const { key, create_revision, mod_revision, version } of lines) {
    const before = known.get(key);
    expect(version).toBe((before?.version ?? 0) + 1);
    expect(create_revision).toBe(before?.create ?? mod_revision);
    known.set(key, { create: create_revision, version });
    if (before !== undefined) overwritten += 1;
  }
  expect(lines.length).toBe(12_000);
  expect(overwritten).toBeGreaterThan(300);
});

test('a seed gives the same bytes every time, another one others', async () => {
  const digests = async (seed: number) =>
    (await written(seed, 500)).deltas.map(({ summary }) => summary.sha256);
  expect(await digests(5)).toEqual(await digests(5));
  expect(await digests(5)).not.toEqual(await digests(6));
});

interface Kv {
  readonly key: string;
  readonly create_revision: number;
  readonly mod_revision: number;
  readonly version: number;
}

/** The Go tool's JSON: an array of events, then 32 bytes of digest. */
function eventsOf(bytes: Buffer): Kv[] {
  const text = bytes.subarray(0, -32).toString('utf8');
  return (JSON.parse(text) as { etcdEvent: { kv: Kv } }[]).map(({ etcdEvent }) => etcdEvent.kv);
}
