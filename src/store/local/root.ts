/** From keys to paths and no further: nothing below the root is reached through a symbolic link or "..". */
import { mkdir, realpath, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { BackupError } from '../../errors.js';
import { checkKey } from '../key.js';
import { errnoOf, localFault, localPutFault } from './faults.js';
import { syncDirectory } from './publish.js';

const DIRECTORY_MODE = 0o700;

export class LocalRoot {
  /** Absolute; may itself be a link, or not exist yet. */
  readonly path: string;

  constructor(path: string) {
    this.path = path;
  }

  /** Where the object is or would be. */
  pathOf(op: string, key: string): string {
    checkKey(op, key);
    return `${this.path}/${key}`;
  }

  /** The real path of what is there: NOT_FOUND when nothing is, UNSUPPORTED when the way leads over a link. */
  async existing(op: string, key: string): Promise<string> {
    const path = this.pathOf(op, key);
    try {
      const [root, real] = await Promise.all([realpath(this.path), realpath(path)]);
      if (real === `${root}/${key}`) return real;
    } catch (error) {
      throw localFault(op, path, error);
    }
    throw linkInTheWay(op, path);
  }

  /** Makes the directories on the way to the object, durably, and gives its real path. */
  async prepareParents(key: string): Promise<string> {
    const path = this.pathOf('store put', key);
    const parent = dirname(key);
    const directory = parent === '.' ? this.path : `${this.path}/${parent}`;
    try {
      await this.#makeDirectories(parent === '.' ? [] : parent.split('/'));
      const [root, real] = await Promise.all([realpath(this.path), realpath(directory)]);
      if (real === (parent === '.' ? root : `${root}/${parent}`)) return `${root}/${key}`;
    } catch (error) {
      throw localPutFault(path, error);
    }
    throw linkInTheWay('store put', path);
  }

  async #makeDirectories(elements: readonly string[]): Promise<void> {
    await makeDirectory(this.path);
    const root = await realpath(this.path);
    let path = root;
    for (const element of elements) {
      path += `/${element}`;
      await makeDirectory(path);
      // Before anything is made behind it.
      if ((await realpath(path)) !== path) throw linkInTheWay('store put', path);
    }
  }
}

/** With its parents; each new one is synced into its own parent, or a power cut could take the whole set away. */
async function makeDirectory(path: string): Promise<void> {
  if (await isDirectory(path)) return;
  const parent = dirname(path);
  if (parent !== path) await makeDirectory(parent);
  try {
    await mkdir(path, DIRECTORY_MODE);
  } catch (error) {
    // Somebody else made it meanwhile.
    if (errnoOf(error) !== 'EEXIST' || !(await isDirectory(path))) throw error;
  }
  await syncDirectory(parent);
}

async function isDirectory(path: string): Promise<boolean> {
  try {
    return (await stat(path)).isDirectory();
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return false;
    throw error;
  }
}

function linkInTheWay(op: string, path: string): BackupError {
  return new BackupError(
    'UNSUPPORTED',
    'a symbolic link is in the way; links below the root are not followed',
    {
      op,
      object: path,
      hint: 'name the real directory in --store-container',
    },
  );
}
