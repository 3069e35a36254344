/**
 * The one moment at which the target changes. With renameat2(EXCHANGE) it is a single step; where the file system has
 * no such call, two renames. A journal, written and synced before, lets the next start finish whichever it was:
 *
 *   exchanged, old one not yet set aside   set it aside
 *   old one set aside, new one not in place   put it in place
 *   nothing happened yet                   leave the old one; the new one is discarded
 */
import { mkdir, open, readFile, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import * as v from 'valibot';
import { isBackupError } from '../errors.js';
import { exchangePaths } from '../native/index.js';
import { RESTORED_FILE } from '../snapshot/restored-mark.js';
import { exists, lstatOrUndefined, type Target } from './target.js';

const schema = v.object({
  /** Inode of the new directory: tells whether it is in place already. */
  newInode: v.string(),
  before: v.string(),
  /** Content of the mark that belongs into the data directory, when `live` is only the member directory. */
  mark: v.nullable(v.string()),
});
type Journal = v.InferOutput<typeof schema>;

export interface SwapOptions {
  readonly nowMs: number;
  readonly mark: string | null;
  /** Stands in where a test wants a file system without the exchange. */
  readonly exchange?: (a: string, b: string) => void;
}

/** `<part>/new` becomes `live`. Returns where the old one is now; undefined when there was none. */
export async function swapIn(target: Target, options: SwapOptions): Promise<string | undefined> {
  const fresh = join(target.part, 'new');
  const before = await freeName(`${target.live}.before-${Math.floor(options.nowMs / 1000)}`);
  const inode = String((await lstatOrUndefined(fresh))?.ino);
  await writeJournal(target, { newInode: inode, before, mark: options.mark });
  const hadOld = await exists(target.live);
  if (!hadOld) await rename(fresh, target.live);
  else if (exchanged(fresh, target.live, options.exchange ?? exchangePaths)) await rename(fresh, before);
  else {
    await rename(target.live, before);
    await rename(fresh, target.live);
  }
  await settle(target, options.mark);
  return hadOld ? before : undefined;
}

/** For the next start after a kill; returns what was done, in words. */
export async function finishSwap(target: Target): Promise<string | undefined> {
  const journal = await readJournal(target);
  if (journal === undefined) return undefined;
  const fresh = join(target.part, 'new');
  const [live, inPart] = await Promise.all([lstatOrUndefined(target.live), lstatOrUndefined(fresh)]);
  const inPlace = live !== undefined && String(live.ino) === journal.newInode;
  if (inPlace) {
    if (inPart !== undefined) await rename(fresh, journal.before);
  } else if (live === undefined && inPart !== undefined && String(inPart.ino) === journal.newInode) {
    await rename(fresh, target.live);
  } else {
    return undefined;
  }
  await settle(target, journal.mark);
  return `finished the restore into ${target.dataDir} that was cut short while it put the new directory in place`;
}

function exchanged(fresh: string, live: string, exchange: (a: string, b: string) => void): boolean {
  try {
    exchange(fresh, live);
    return true;
  } catch (error) {
    if (isBackupError(error, 'UNSUPPORTED')) return false;
    throw error;
  }
}

/** The mark follows the member: one without a mark only costs a question later, a mark without its member would lie. */
async function settle(target: Target, mark: string | null): Promise<void> {
  if (mark !== null) {
    const owner = process.getuid?.() === 0 ? await lstatOrUndefined(target.live) : undefined;
    await writeDurably(join(target.dataDir, RESTORED_FILE), mark, owner);
  }
  await syncDirectory(dirname(target.live));
  await rm(join(target.part, 'journal.json'), { force: true });
}

async function freeName(wanted: string): Promise<string> {
  for (let tried = 0; ; tried++) {
    const name = tried === 0 ? wanted : `${wanted}${tried}`;
    if (!(await exists(name))) return name;
  }
}

async function writeJournal(target: Target, journal: Journal): Promise<void> {
  await mkdir(target.part, { recursive: true });
  await writeDurably(join(target.part, 'journal.json'), JSON.stringify(journal));
}

async function readJournal(target: Target): Promise<Journal | undefined> {
  const text = await readFile(join(target.part, 'journal.json'), 'utf8').catch(() => undefined);
  if (text === undefined) return undefined;
  const parsed = v.safeParse(v.pipe(v.string(), v.parseJson(), schema), text);
  return parsed.success ? parsed.output : undefined;
}

/** Whole or not at all: a hidden file, synced, then renamed. Who may read it beside us is the `owner`. */
async function writeDurably(
  path: string,
  text: string,
  owner?: { readonly uid: number; readonly gid: number },
): Promise<void> {
  const hidden = join(dirname(path), `.${path.slice(dirname(path).length + 1)}.new`);
  const file = await open(hidden, 'w', 0o600);
  try {
    await file.writeFile(text);
    if (owner !== undefined) await file.chown(owner.uid, owner.gid);
    await file.sync();
  } finally {
    await file.close();
  }
  await rename(hidden, path);
  await syncDirectory(dirname(path));
}

async function syncDirectory(path: string): Promise<void> {
  const dir = await open(path, 'r');
  try {
    await dir.sync();
  } finally {
    await dir.close();
  }
}
