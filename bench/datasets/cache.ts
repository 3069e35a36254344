/** Where data sets are kept between runs: $XDG_CACHE_HOME/etcdbr/bench (else ~/.cache), one directory each. */
import { existsSync } from 'node:fs';
import { mkdir, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join, relative } from 'node:path';

export const benchCache = join(process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'etcdbr', 'bench');

/** Makes the set unless it is there. It appears by one rename, whole; what a killed run left is made again. */
export async function cached(name: string, make: (dir: string) => Promise<void>): Promise<string> {
  const dir = join(benchCache, name);
  if (existsSync(dir)) return unchanged(dir);
  process.stderr.write(`bench: makes the data set ${name}\n`);
  const building = `${dir}.building-${process.pid}`;
  await rm(building, { recursive: true, force: true });
  await mkdir(building, { recursive: true });
  await make(building);
  await writeFile(join(building, CONTENT), JSON.stringify(await contentOf(building)));
  await rename(building, dir).catch(async (error) => {
    // Another run was first.
    if (!existsSync(dir)) throw error;
    await rm(building, { recursive: true });
  });
  return dir;
}

const CONTENT = '.content.json';

/** Somebody who tried something by hand may have left the set without a part of it. */
async function unchanged(dir: string): Promise<string> {
  const made = await readFile(join(dir, CONTENT), 'utf8').catch(() => 'no list of what is in it');
  if (made === JSON.stringify(await contentOf(dir))) return dir;
  throw new Error(`the data set ${dir} is not as it was made; remove it, and it is made again`);
}

/** Paths and sizes, in order. */
async function contentOf(dir: string): Promise<string[]> {
  const entries = await readdir(dir, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile() && entry.name !== CONTENT);
  const described = files.map(async (entry) => {
    const path = join(entry.parentPath, entry.name);
    return `${relative(dir, path)} ${(await stat(path)).size}`;
  });
  return (await Promise.all(described)).sort();
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
