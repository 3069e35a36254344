/** What else may lie in a directory: links, pipes, names of other tools. Nothing leads out of the root. */
import { execFileSync } from 'node:child_process';
import { chmod, mkdir, readdir, stat, symlink, writeFile } from 'node:fs/promises';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { LocalStore } from '../../../src/store/local/local-store.js';
import { removeTempDir, tempDir } from '../../servers/process.js';
import { codeOf, keysOf, put, readAll } from '../conformance/material.js';

let dir: string;
let root: string;
let store: LocalStore;

beforeEach(async () => {
  dir = tempDir('links');
  root = `${dir}/backups`;
  store = new LocalStore({ root });
  await put(store, 'v2/good');
});
afterEach(() => removeTempDir(dir));

it('lists past links, loops, pipes, foreign bytes and hidden files, and reports them once', async () => {
  await symlink(root, `${root}/v2/loop`);
  await symlink('/etc', `${root}/v2/out`);
  await symlink('nowhere', `${root}/v2/dangling`);
  await symlink(`${root}/v2/good`, `${root}/v2/alias`);
  execFileSync('mkfifo', [`${root}/v2/pipe`]);
  await writeFile(Buffer.concat([Buffer.from(`${root}/v2/latin-`), Buffer.from([0xe9])]), 'x');
  await writeFile(`${root}/v2/.hidden`, 'x');
  for (let at = 0; at < 30; at++) await writeFile(`${root}/v2/x${at}`, 'x');
  const skipped: string[] = [];
  const narrow = new LocalStore({ root, windowNames: 4 });
  const keys = await keysOf(narrow, 'v2', { onSkipped: (name, why) => skipped.push(`${name}: ${why}`) });
  expect(keys).toHaveLength(31);
  expect(skipped.map((text) => text.replace(/:.*/, '')).sort()).toEqual([
    'v2/alias',
    'v2/dangling',
    'v2/latin-\uFFFD',
    'v2/loop',
    'v2/out',
    'v2/pipe',
  ]);
});

it('neither reads, writes nor deletes through a link', async () => {
  await mkdir(`${dir}/outside`);
  await writeFile(`${dir}/outside/secret`, 'secret');
  await symlink(`${dir}/outside`, `${root}/v2/out`);
  await symlink(`${dir}/outside/secret`, `${root}/v2/file`);
  for (const key of ['v2/out/secret', 'v2/file']) {
    expect(await codeOf(readAll(store, key))).toBe('UNSUPPORTED');
    expect(await codeOf(store.head(key))).toBe('UNSUPPORTED');
    expect(await codeOf(store.delete(key))).toBe('UNSUPPORTED');
  }
  expect(await codeOf(store.putBytes('v2/out/new', Buffer.from('x')))).toBe('UNSUPPORTED');
  expect(await codeOf(store.putBytes('v2/out/deep/new', Buffer.from('x')))).toBe('UNSUPPORTED');
  expect(await codeOf(store.putBytes('v2/file', Buffer.from('x')))).toBe('EXISTS');
  expect(
    execFileSync('find', [`${dir}/outside`, '-mindepth', '1'])
      .toString()
      .trim(),
  ).toBe(`${dir}/outside/secret`);
});

it('may itself lie behind a link', async () => {
  await symlink(root, `${dir}/current`);
  const linked = new LocalStore({ root: `${dir}/current` });
  await put(linked, 'v2/manifest/new');
  expect(await keysOf(linked)).toEqual(['v2/good', 'v2/manifest/new']);
  expect(await keysOf(store)).toEqual(['v2/good', 'v2/manifest/new']);
});

it('is not blocked by a pipe of the name of an object', async () => {
  execFileSync('mkfifo', [`${root}/v2/pipe`]);
  expect(await codeOf(readAll(store, 'v2/pipe'))).toBe('NOT_FOUND');
  expect(await codeOf(store.head('v2/pipe'))).toBe('NOT_FOUND');
  expect(await codeOf(store.putBytes('v2/pipe', Buffer.from('x')))).toBe('EXISTS');
});

it('says so when a file is in the way of a directory, or the other way round', async () => {
  expect(await codeOf(store.putBytes('v2/good/below', Buffer.from('x')))).toBe('EXISTS');
  expect(await codeOf(store.putBytes('v2', Buffer.from('x')))).toBe('EXISTS');
  expect(await codeOf(new LocalStore({ root: `${root}/v2/good` }).putBytes('a', Buffer.from('x')))).toBe(
    'EXISTS',
  );
});

it('keeps files and directories to their owner, also what it takes', async () => {
  const source = `${dir}/source`;
  await writeFile(source, '');
  await chmod(source, 0o644);
  const sha256 = 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855';
  await store.putFile('v2/new/taken', source, { bytes: 0, sha256, mayTake: true });
  expect((await stat(`${root}/v2/new/taken`)).mode & 0o777).toBe(0o600);
  expect((await stat(`${root}/v2/good`)).mode & 0o777).toBe(0o600);
  for (const path of [root, `${root}/v2`, `${root}/v2/new`])
    expect((await stat(path)).mode & 0o777).toBe(0o700);
});

it('leaves no file open, however it ends', async () => {
  await store.putBytes('v2/body', Buffer.alloc(2_000_000));
  const openFiles = async () => (await readdir('/proc/self/fd')).length;
  const before = await openFiles();
  for (let round = 0; round < 20; round++) {
    const abort = new AbortController();
    const reading = async () => {
      for await (const chunk of store.get('v2/body', { signal: abort.signal })) abort.abort(chunk.length);
    };
    expect(await codeOf(reading())).toBe('CANCELLED');
    for await (const chunk of store.get('v2/body')) if (chunk.length > 0) break;
    for await (const { key } of store.list('')) if (key !== '') break;
    const source = { bytes: 1, sha256: 'a'.repeat(64) };
    expect(await codeOf(store.putFile('v2/new', `${root}/v2/body`, source))).toBe('TRUNCATED');
    expect(await codeOf(store.putFile('v2/new', `${root}/v2/good`, { ...source, bytes: 18 }))).not.toBe(
      'no error',
    );
    expect(await codeOf(store.putBytes('v2/body', Buffer.from('other')))).toBe('EXISTS');
  }
  expect(await openFiles()).toBe(before);
});
