/** Where data sets are kept between runs: $XDG_CACHE_HOME/etcdbr/bench (else ~/.cache), one directory each. */
import { existsSync } from 'node:fs';
import { mkdir, rename, rm } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';

export const benchCache = join(process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'etcdbr', 'bench');

/** Makes the set unless it is there. It appears by one rename, whole; what a killed run left is made again. */
export async function cached(name: string, make: (dir: string) => Promise<void>): Promise<string> {
  const dir = join(benchCache, name);
  if (existsSync(dir)) return dir;
  process.stderr.write(`bench: makes the data set ${name}\n`);
  const building = `${dir}.building`;
  await rm(building, { recursive: true, force: true });
  await mkdir(building, { recursive: true });
  await make(building);
  await rename(building, dir);
  return dir;
}
