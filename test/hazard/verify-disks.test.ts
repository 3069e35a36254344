/** Verification beside disks that are read-only or full. Needs root for the mounts, which the tests have. */
import { execFile, execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { cp, mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { etcdBinary } from '../servers/binaries.js';
import { removeTempDir, tempDir } from '../servers/process.js';
import { type OurSet, ourSet } from '../validator/our-set.js';

const program = fileURLToPath(new URL('../../dist/main.js', import.meta.url));
let set: OurSet;
let dir: string;
let mount: string;
beforeAll(async () => {
  set = await ourSet('3.6.16', { seed: 11, compactBehind: 20 });
}, 60_000);
afterAll(() => set.remove());
beforeEach(async () => {
  dir = tempDir('verify-disk');
  mount = join(dir, 'mount');
  await mkdir(mount);
});
afterEach(async () => {
  execFileSync('umount', [mount]);
  await removeTempDir(dir);
});

const mountOf = (bytes: number) =>
  execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${bytes}`, 'none', mount]);

function verify(...args: string[]): Promise<{ code: number; stdout: string; stderr: string }> {
  const env = { ...process.env, HOME: dir, XDG_STATE_HOME: '' };
  return new Promise((resolve) => {
    execFile(process.execPath, [program, 'verify', ...args], { env }, (error, stdout, stderr) => {
      resolve({ code: error === null ? 0 : Number(error.code), stdout, stderr });
    });
  });
}

/** Every file and directory with size, time and digest. */
async function traces(top: string): Promise<string[]> {
  const found: string[] = [];
  for (const name of (await readdir(top, { recursive: true })).sort()) {
    const stats = await stat(join(top, name));
    const digest = stats.isFile()
      ? createHash('sha256')
          .update(await readFile(join(top, name)))
          .digest('hex')
      : '';
    found.push([name, stats.size, stats.mtimeMs, digest].join(' '));
  }
  return found;
}

test('hazard 26: a store on a read-only mount is verified with all that there is, and stays as it was', async () => {
  mountOf(64 * 1024 * 1024);
  await cp(set.container, join(mount, 'store'), { recursive: true });
  execFileSync('mount', ['-o', 'remount,ro', mount]);
  const before = await traces(mount);
  const { code, stdout, stderr } = await verify(
    ...['--store-container', join(mount, 'store'), '--snapstore-temp-directory', join(dir, 'temp')],
    ...['--deep', '--remember', '--trial-restore', '--etcd-binary', etcdBinary('3.6.16')],
  );
  expect({ code, stderr }).toEqual({
    code: 0,
    stderr: expect.stringContaining('not remembered in the store'),
  });
  for (const text of ['all sound', 'make it', 'trial restore: an etcd 3.6.16 serves'])
    expect(stdout).toContain(text);
  expect(await traces(mount)).toEqual(before);
  expect(await readdir(join(dir, 'temp'))).toEqual([]);
});

test('hazard 26: a writable store is not written to either', async () => {
  mountOf(64 * 1024 * 1024);
  const store = join(mount, 'store');
  await cp(set.container, store, { recursive: true });
  const before = await traces(mount);
  const { code } = await verify('--store-container', store, '--deep', '--snapstore-temp-directory', dir);
  expect(code).toBe(0);
  expect(await traces(mount)).toEqual(before);
});

test('a temporary directory without room: exit 1 with the flag that helps, and nothing is left in it', async () => {
  mountOf(48 * 1024);
  const args = ['--store-container', set.container, '--snapstore-temp-directory', mount];
  const { code, stderr } = await verify(...args);
  expect({ code, stderr }).toEqual({
    code: 1,
    stderr: expect.stringContaining('--snapstore-temp-directory'),
  });
  expect(await readdir(mount)).toEqual([]);
});

test('a state dir without room is a note, and what was there is still believed', async () => {
  mountOf(16 * 1024);
  const args = ['--store-container', set.container, '--state-dir', join(mount, 'state')];
  expect((await verify(...args)).code).toBe(0);
  const blocks = await import('node:fs').then(({ statfsSync }) => statfsSync(mount));
  await writeFile(join(mount, 'filler'), Buffer.alloc(blocks.bavail * blocks.bsize));
  const again = await verify(...args, '--again');
  expect({ code: again.code, stderr: again.stderr }).toEqual({
    code: 0,
    stderr: expect.stringContaining('not remembered'),
  });
  expect((await verify(...args)).stdout.match(/unchanged since\)$/gm)).toHaveLength(5);
});
