/** Disks that are full, read-only, or not ours. Needs root for the mounts, which the tests have. */
import { execFileSync } from 'node:child_process';
import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { LocalStore } from '../../../src/store/local/local-store.js';
import { exited, removeTempDir, spawnBound, tempDir } from '../../servers/process.js';
import { codeOf, keysOf, put, readAll, sha256, sourceFile } from '../conformance/material.js';

const SIZE_BYTES = 1024 * 1024;
let dir: string;
let mount: string;

beforeEach(async () => {
  dir = tempDir('disk');
  mount = `${dir}/mount`;
  await mkdir(mount);
  execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${SIZE_BYTES}`, 'none', mount]);
});
afterEach(async () => {
  execFileSync('umount', [mount]);
  await removeTempDir(dir);
});

it('ends with NO_SPACE on a full disk, leaves nothing there, and goes on when there is room again', async () => {
  const store = new LocalStore({ root: mount });
  const bench = { store, dir, fill: async () => undefined };
  const large = await sourceFile(bench, 2 * SIZE_BYTES);
  const half = await sourceFile(bench, SIZE_BYTES / 2);
  const error = await store.putFile('v2/large', large.path, large.stated).catch((thrown: unknown) => thrown);
  expect(error).toMatchObject({ code: 'NO_SPACE', object: `${mount}/v2/large` });
  expect(error).toHaveProperty('hint', expect.stringContaining('free space'));
  expect(await readdir(`${mount}/v2`)).toEqual([]);
  await store.putFile('v2/first', half.path, half.stated);
  const other = await sourceFile(bench, SIZE_BYTES / 2 + 1, 2);
  expect(await codeOf(store.putFile('v2/second', other.path, other.stated))).toBe('NO_SPACE');
  expect(await readdir(`${mount}/v2`)).toEqual(['first']);
  await store.delete('v2/first');
  await store.putFile('v2/second', other.path, other.stated);
  expect((await readAll(store, 'v2/second')).equals(other.content)).toBe(true);
});

it('reads from a read-only disk and ends with READ_ONLY when it should write', async () => {
  const store = new LocalStore({ root: mount });
  await put(store, 'v2/a');
  execFileSync('mount', ['-o', 'remount,ro', mount]);
  expect(await keysOf(store)).toEqual(['v2/a']);
  expect(String(await readAll(store, 'v2/a'))).toBe('content of v2/a');
  expect((await store.head('v2/a')).bytes).toBeGreaterThan(0);
  expect(await store.putBytes('v2/a', Buffer.from('content of v2/a')).catch(String)).toEqual({
    existed: true,
  });
  expect(await codeOf(store.putBytes('v2/b', Buffer.from('x')))).toBe('READ_ONLY');
  expect(await codeOf(store.putBytes('v3/b', Buffer.from('x')))).toBe('READ_ONLY');
  expect(await codeOf(store.delete('v2/a'))).toBe('READ_ONLY');
  expect(await store.cleanUp('')).toEqual({ removed: 0, bytes: 0 });
});

it('takes a file over a file-system border by copying it', async () => {
  const store = new LocalStore({ root: mount });
  const content = Buffer.alloc(300_000, 'x');
  await writeFile(`${dir}/source`, content);
  const stated = { bytes: content.length, sha256: sha256(content), mayTake: true };
  await store.putFile('v2/a', `${dir}/source`, stated);
  expect((await readAll(store, 'v2/a')).equals(content)).toBe(true);
});

it('ends with PERMISSION where another user may not, and passes over their lost+found (hazard 34)', async () => {
  const store = new LocalStore({ root: mount });
  await put(store, 'v2/a', 'v2/private/b');
  await mkdir(`${mount}/v2/lost+found`, { mode: 0o700 });
  execFileSync('chmod', ['755', mount, `${mount}/v2`, dir]);
  execFileSync('chmod', ['644', `${mount}/v2/a`]);
  const seen = await asNobody(mount);
  expect(seen).toEqual({
    list: ['v2/a'],
    skipped: ['v2/lost+found/', 'v2/private/'],
    get: 'no error',
    getPrivate: 'PERMISSION',
    put: 'PERMISSION',
    putNewDirectory: 'PERMISSION',
    delete: 'PERMISSION',
    listPrivate: 'PERMISSION',
  });
});

/** What a user without rights gets to see: root, as which the tests run, may do everything. */
async function asNobody(root: string): Promise<unknown> {
  const script = new URL('./as-nobody.ts', import.meta.url).pathname;
  const child = spawnBound(process.execPath, ['--import', 'tsx', script, root], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let output = '';
  child.stdout?.on('data', (chunk: Buffer) => {
    output += chunk.toString();
  });
  await exited(child);
  return JSON.parse(output);
}
