/** Hazard 37: kill -9 in the middle of puts. Nothing half under a final name; the next start removes what is left. */
import { stat, utimes, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { sleep } from '../../../src/base/abort.js';
import { LocalStore } from '../../../src/store/local/local-store.js';
import { SILENT_TEMP_MS, tempName, tempOwner, thisProcess } from '../../../src/store/local/temp.js';
import { exited, removeTempDir, spawnBound, tempDir } from '../../servers/process.js';
import { Random } from '../../servers/random.js';
import { keysOf, put, readAll, sha256 } from '../conformance/material.js';
import { hiddenFiles } from './hidden.js';

const KILLS = process.env.ETCDBR_TEST_FULL === '1' ? 100 : 12;
let dir: string;
let root: string;

beforeEach(() => {
  dir = tempDir('killed');
  root = `${dir}/backups`;
});
afterEach(() => removeTempDir(dir));

it(`shows only whole objects after each of ${KILLS} kills, and cleans up behind them`, async () => {
  const random = new Random(37);
  const store = new LocalStore({ root });
  let left = 0;
  for (let kill = 0; kill < KILLS; kill++) {
    await putUntilKilled(random.int(150), kill % 2 === 0 ? 'links' : 'no links', random.int(1_000_000));
    for (const key of await keysOf(store)) {
      // The writer names each object by its digest.
      expect(sha256(await readAll(store, key)), key).toBe(key.split('-').at(-1));
    }
    await ageEmptyClaims();
    const hidden = await hiddenFiles(root);
    const cleaned = await store.cleanUp('');
    expect(cleaned.removed).toBe(hidden.length);
    left += hidden.length;
    expect(await hiddenFiles(root)).toEqual([]);
  }
  expect(left).toBeGreaterThan(0);
}, 240_000);

it('removes nobody else’s files, nor those of writers that may be at work', async () => {
  const store = new LocalStore({ root });
  await put(store, 'v2/a');
  const me = thisProcess();
  const elsewhere = { machine: '00000000', pid: 1, startTime: '1' };
  const staying = [
    tempName('alive'),
    tempName('elsewhere, fresh', elsewhere),
    '.tmp-of another tool',
    '.nfs0000001',
    `.claim-${'a'.repeat(32)}`,
  ];
  const old = tempName('elsewhere, silent', elsewhere);
  const going = [
    tempName('gone', { ...me, pid: 2 ** 22 + 1 }),
    tempName('pid was given to another', { ...me, startTime: '1' }),
    old,
  ];
  for (const name of [...staying, ...going]) await writeFile(`${root}/v2/${name}`, 'four');
  const longAgo = new Date(Date.now() - SILENT_TEMP_MS - 60_000);
  await utimes(`${root}/v2/${old}`, longAgo, longAgo);
  await utimes(`${root}/v2/.tmp-of another tool`, longAgo, longAgo);
  expect(await store.cleanUp('v1')).toEqual({ removed: 0, bytes: 0 });
  expect(await store.cleanUp('')).toEqual({ removed: 3, bytes: 12 });
  expect((await hiddenFiles(root)).sort()).toEqual(staying.map((name) => `v2/${name}`).sort());
  expect(await keysOf(store)).toEqual(['v2/a']);
});

it('names unfinished files so that they fit, hide, and tell who writes', () => {
  for (const name of ['Full-1', 'x'.repeat(255), 'é'.repeat(127), `.tmp-${hostname()}`, 'new\nline']) {
    const temp = tempName(name);
    expect(Buffer.byteLength(temp)).toBeLessThanOrEqual(255);
    expect(temp.startsWith('.')).toBe(true);
    expect(tempOwner(temp)).toEqual(thisProcess());
  }
  expect(tempOwner('.tmp-Full-00000000-00000001-1700000000.gz')).toBeUndefined();
});

/** A writer that was killed before it could sign its claim is known by the claim's age alone. */
async function ageEmptyClaims(): Promise<void> {
  const longAgo = new Date(Date.now() - SILENT_TEMP_MS);
  for (const name of await hiddenFiles(root)) {
    const path = `${root}/${name}`;
    if ((await stat(path)).size === 0 && name.includes('/.claim-')) await utimes(path, longAgo, longAgo);
  }
}

async function putUntilKilled(afterMs: number, links: string, seed: number): Promise<void> {
  const script = new URL('./put-forever.ts', import.meta.url).pathname;
  const args = ['--import', 'tsx', script, root, links, String(seed)];
  const child = spawnBound(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  const started = new Promise((resolve) => child.stdout?.once('data', resolve));
  await Promise.race([started, exited(child)]);
  await sleep(afterMs);
  child.kill('SIGKILL');
  await exited(child);
}
