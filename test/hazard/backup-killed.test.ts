/**
 * kill -9 of the backup at random moments (hazard 37): nothing half-made under a final name, the chain is complete
 * after the next start, nothing is left behind. ETCDBR_KILLS=50 is the full form.
 */
import type { ChildProcess } from 'node:child_process';
import { createWriteStream } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { unpackFull, verifyDelta } from '../../src/native/index.js';
import type { TestEtcd } from '../servers/etcd.js';
import { Load } from '../servers/load.js';
import { exited, removeTempDir, spawnBound, tempDir } from '../servers/process.js';
import { Random } from '../servers/random.js';
import type { BackupPlace } from '../snapshotter/backup.js';
import { proveSet, readSet } from '../snapshotter/prove-set.js';
import { cleanUp, setUp } from '../snapshotter/set-up.js';

const KILLS = Number(process.env.ETCDBR_KILLS ?? 6);
const SEED = Number(process.env.ETCDBR_SEED ?? 37);
/** Start, full, and a few deltas all fall into this. */
const LIVES_UP_TO_MS = 4_000;
const program = fileURLToPath(new URL('../snapshotter/backup-process.ts', import.meta.url));

test(`killed ${KILLS} times`, async () => {
  const { etcd, endpoint, place } = await setUp('3.6.16');
  const random = new Random(SEED);
  const loading = new AbortController();
  const load = new Load(endpoint, { seed: SEED, compactBehind: 0 });
  const loaded = keepLoading(load, loading.signal);
  cleanUp(() => loading.abort());
  for (let round = 0; round < KILLS; round++) {
    const backup = run(etcd, place, round % 3 === 2 ? { compat: 'gardener' } : {});
    await backup.saw('running');
    await sleep(random.int(LIVES_UP_TO_MS));
    backup.child.kill('SIGKILL');
    await exited(backup.child);
    await everyObjectIsWhole(place);
  }
  const last = run(etcd, place, {});
  await last.saw('delta-stored');
  loading.abort();
  await loaded;
  last.child.kill('SIGTERM');
  await exited(last.child);
  expect(last.child.exitCode).toBe(0);
  await proveSet(place.store, etcd, endpoint);
  await nothingIsLeft(place);
}, 600_000);

async function keepLoading(load: Load, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    await load.run(5, signal);
    await sleep(20);
  }
}

function run(etcd: TestEtcd, place: BackupPlace, flags: Record<string, string>) {
  const given = { 'delta-snapshot-period': '1s', ...flags };
  const args = [
    '--import',
    'tsx',
    program,
    etcd.endpoint,
    place.container,
    place.tempDir,
    JSON.stringify(given),
  ];
  const child: ChildProcess = spawnBound(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  const seen: string[] = [];
  const lines = createInterface({ input: child.stdout as NodeJS.ReadableStream });
  lines.on('line', (line) => seen.push((JSON.parse(line) as { kind: string }).kind));
  const saw = async (kind: string) => {
    while (!seen.includes(kind)) {
      if (child.exitCode !== null) throw new Error(`the backup ended with ${child.exitCode} before ${kind}`);
      await sleep(20);
    }
  };
  return { child, saw };
}

/** Reads all that has a final name. */
async function everyObjectIsWhole({ store }: BackupPlace): Promise<void> {
  const dir = tempDir('whole');
  try {
    for (const { key, name } of await readSet(store)) {
      const source = join(dir, name.text);
      await pipeline(Readable.from(store.get(key), { objectMode: false }), createWriteStream(source));
      if (name.kind === 'delta') {
        const { summary } = await verifyDelta(name.text, source);
        expect([summary.firstRevision, summary.lastRevision]).toEqual([name.start, name.last]);
      } else {
        const codec = name.codec === 'ebd' ? 'none' : name.codec;
        const request = { source, target: `${source}.db`, codec, stripTrailer: false, maxBytes: 2 ** 32 };
        expect(await unpackFull(name.text, request)).toMatchObject({ trailer: 'good' });
      }
    }
  } finally {
    await removeTempDir(dir);
  }
}

async function nothingIsLeft({ container, tempDir: temp }: BackupPlace): Promise<void> {
  expect(await readdir(temp, { recursive: true })).toEqual([]);
  const stored = await readdir(container, { recursive: true });
  expect(stored.filter((name) => name.includes('/.') || name.startsWith('.'))).toEqual([]);
}
