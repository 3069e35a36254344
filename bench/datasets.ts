/** Data sets, made from seeds and kept in the cache. */
import { existsSync } from 'node:fs';
import { cp, mkdir, rename, rm } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { measure } from './measure.js';

const root = fileURLToPath(new URL('..', import.meta.url));
export const cacheDir = join(process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'etcdbr');
const VALUE_BYTES = 768;
const KEYS = 1_000_000;

/** A data directory whose records take `mib` MiB; an etcd of any version starts from it. */
export async function memberOf(mib: number): Promise<string> {
  const dir = join(cacheDir, 'bench', `member-${mib}`);
  if (existsSync(dir)) return dir;
  await mkdir(join(cacheDir, 'bench'), { recursive: true });
  const building = `${dir}.building`;
  await rm(building, { recursive: true, force: true });
  const args = [
    'run',
    '--quiet',
    '--release',
    '--manifest-path',
    join(root, 'Cargo.toml'),
    '-p',
    'etcd-data',
  ];
  await measure('cargo', [
    ...args,
    '--example',
    'make_member',
    '--',
    building,
    `${mib}`,
    `${VALUE_BYTES}`,
    `${KEYS}`,
  ]);
  await rename(building, dir);
  return dir;
}

/** A copy that may be changed; by reference where the file system can. */
export async function copyOfMember(mib: number, to: string): Promise<void> {
  await cp(await memberOf(mib), to, { recursive: true, mode: 2 });
}

export const program = join(root, 'dist', 'main.js');
