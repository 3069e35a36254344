/** Where data sets are kept between runs: $XDG_CACHE_HOME/etcdbr/bench (else ~/.cache), one directory each. */
import { existsSync } from 'node:fs';
import { mkdir, readdir, rename, rm } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';

export const benchCache = join(process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'etcdbr', 'bench');

/** Makes the set unless it is there. It appears by one rename, whole; what a killed run left is made again. */
export async function cached(name: string, make: (dir: string) => Promise<void>): Promise<string> {
  const dir = join(benchCache, name);
  if (existsSync(dir)) return dir;
  process.stderr.write(`bench: makes the data set ${name}\n`);
  const building = `${dir}.building-${process.pid}`;
  await rm(building, { recursive: true, force: true });
  await mkdir(building, { recursive: true });
  await make(building);
  await rename(building, dir).catch(async (error) => {
    // Another run was first.
    if (!existsSync(dir)) throw error;
    await rm(building, { recursive: true });
  });
  return dir;
}

/** What this run works in; on the disk of the data sets. */
export function workDirOfThisRun(): string {
  return join(benchCache, `work-${process.pid}`);
}

/** Removes what runs have left that were killed. */
export async function removeLeftBehind(): Promise<void> {
  await mkdir(benchCache, { recursive: true });
  for (const name of await readdir(benchCache)) {
    const pid = /^(?:work|.*\.building)-(\d+)$/.exec(name)?.[1];
    if (pid === undefined || existsSync(`/proc/${pid}`)) continue;
    await rm(join(benchCache, name), { recursive: true, force: true });
  }
}
