/** Sizes: a directory of many files is listed, and a large object goes in and out, without memory for either. */
import { mkdirSync, truncateSync, writeFileSync } from 'node:fs';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { LocalStore } from '../../../src/store/local/local-store.js';
import { exited, removeTempDir, spawnBound, tempDir } from '../../servers/process.js';

const FULL = process.env.ETCDBR_TEST_FULL === '1';
/** Hazard 7 has 504,438; the short form still needs several windows. */
const FILES = FULL ? 504_438 : 40_000;
const WINDOW_NAMES = FULL ? undefined : 5000;
const LIST_BOUND_MS = 30_000;
const OBJECT_BYTES = FULL ? 4 * 1024 ** 3 : 512 * 1024 ** 2;
/** Node with the transpiler takes about 80 MB by itself. */
const RSS_BOUND_BYTES = 110 * 1024 ** 2;

let dir: string;

beforeEach(() => {
  dir = tempDir('large');
});
afterEach(() => removeTempDir(dir));

it(`lists a directory of ${FILES} files in order`, async () => {
  const root = `${dir}/backups`;
  mkdirSync(`${root}/v2`, { recursive: true });
  const nameOf = (at: number) =>
    `Incr-${String(at).padStart(8, '0')}-${String(at).padStart(8, '0')}-1700000000.gz`;
  for (let at = 0; at < FILES; at++) writeFileSync(`${root}/v2/${nameOf((at * 7919) % FILES)}`, '');
  const store = new LocalStore({
    root,
    ...(WINDOW_NAMES === undefined ? {} : { windowNames: WINDOW_NAMES }),
  });
  const startMs = performance.now();
  let seen = 0;
  for await (const { key } of store.list('v2')) {
    if (key !== `v2/${nameOf(seen)}`) throw new Error(`${key} at ${seen}`);
    seen += 1;
  }
  expect(seen).toBe(FILES);
  expect(performance.now() - startMs).toBeLessThan(LIST_BOUND_MS);
}, 240_000);

it(`puts and gets an object of ${OBJECT_BYTES} bytes in bounded memory`, async () => {
  writeFileSync(`${dir}/source`, 'begins here');
  truncateSync(`${dir}/source`, OBJECT_BYTES);
  const script = new URL('./put-and-get.ts', import.meta.url).pathname;
  const args = ['--import', 'tsx', script, `${dir}/backups`, `${dir}/source`];
  const child = spawnBound(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  let output = '';
  child.stdout?.on('data', (chunk: Buffer) => {
    output += chunk.toString();
  });
  await exited(child);
  const { bytes, maxRssBytes } = JSON.parse(output);
  expect(bytes).toBe(OBJECT_BYTES);
  expect(maxRssBytes).toBeLessThan(RSS_BOUND_BYTES);
}, 240_000);
