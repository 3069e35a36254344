import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { removeTempDir, tempDir } from '../servers/process.js';

const home = tempDir('bench-cache');
let cache: typeof import('../../bench/datasets/cache.js');
beforeAll(async () => {
  vi.stubEnv('XDG_CACHE_HOME', home);
  cache = await import('../../bench/datasets/cache.js');
});
afterAll(async () => {
  vi.unstubAllEnvs();
  await removeTempDir(home);
});

async function make(dir: string): Promise<void> {
  await mkdir(join(dir, 'v2'));
  await writeFile(join(dir, 'v2', 'full'), 'bytes');
}

describe('a data set', () => {
  test('is made once, below the cache', async () => {
    let made = 0;
    const counting = async (dir: string) => {
      made += 1;
      await make(dir);
    };
    const dir = await cache.cached('once', counting);
    expect(await cache.cached('once', counting)).toBe(dir);
    expect([made, dir]).toEqual([1, join(home, 'etcdbr', 'bench', 'once')]);
    expect(await readFile(join(dir, 'v2', 'full'), 'utf8')).toBe('bytes');
  });

  test('that failed halfway is not there, and is made again', async () => {
    const failing = async (dir: string) => {
      await make(dir);
      throw new Error('no space');
    };
    await expect(cache.cached('half', failing)).rejects.toThrow('no space');
    expect(await readdir(await cache.cached('half', make))).toContain('v2');
  });

  test.each([
    ['lost a file', (dir: string) => rm(join(dir, 'v2', 'full'))],
    ['has a file cut short', (dir: string) => writeFile(join(dir, 'v2', 'full'), 'byt')],
    ['has one more', (dir: string) => writeFile(join(dir, 'v2', 'delta'), '')],
  ])('that %s since is refused', async (what, change) => {
    await change(await cache.cached(what, make));
    await expect(cache.cached(what, make)).rejects.toThrow(/is not as it was made; remove it/);
  });

  test('what killed runs left is removed, that of living ones stays', async () => {
    const gone = ['work-999999999', 'set.building-999999999'];
    const own = `work-${process.pid}`;
    for (const name of [...gone, own]) await mkdir(join(cache.benchCache, name), { recursive: true });
    await cache.removeLeftBehind();
    const left = await readdir(cache.benchCache);
    expect(left).toContain(own);
    for (const name of gone) expect(left).not.toContain(name);
  });
});
