/**
 * Events that wait for their upload, on local disk. It may be the only copy of what etcd has compacted, so it knows
 * whose it is (architecture, decision 14):
 *
 *   owner.lock                          held by the process that writes here
 *   spool.json                          the store that it belongs to, and the last object stored there
 *   <lineage>-<start revision>.ebd      one delta each, written or waiting; names sort in order
 *   <the same>.ebd.json                 a delta in the Go tool's format, while it is uploaded
 *   aside-<unixsecs>/                   deltas that could not be continued; kept until somebody removes them
 *
 * A lineage is a chain from one full on. Its number grows with each new full at which one begins, and only when that
 * full is stored it becomes the current one: deltas of a higher number have no base, and are void.
 */
import { createHash } from 'node:crypto';
import { mkdir, open, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { BackupError, isBackupError } from '../errors.js';
import type { Observer } from './events.js';
import type { ChainEnd } from './full.js';
import { diskFault, OwnedDir } from './owned-dir.js';
import { formatSpoolState, parseSpoolState, type SpoolState } from './spool-state.js';
import { isInMemory } from './tmpfs.js';

export interface SpoolOptions {
  readonly dir: string;
  readonly location: string;
  /** A directory that nobody chose: it goes away when nothing waits in it. */
  readonly temporary: boolean;
  readonly observe: Observer;
}

export interface SpooledFile {
  readonly path: string;
  readonly lineage: number;
}

const STATE_NAME = 'spool.json';
const STATE_TEMP_NAME = 'spool.json.new';
const DELTA_NAME = /^(\d{6})-\d{20}\.ebd$/;
const SCRATCH_NAME = 'fetched.delta';
const EXPORT_SUFFIX = '.json';
const ASIDE_PREFIX = 'aside-';
const NO_STATE: SpoolState = { lineage: 0, tip: undefined };

/** Made from others in here and of no use to the next run, whether whole or not. */
function isScratch(name: string): boolean {
  if (name === SCRATCH_NAME || name === STATE_TEMP_NAME) return true;
  return name.endsWith(EXPORT_SUFFIX) && DELTA_NAME.test(name.slice(0, -EXPORT_SUFFIX.length));
}

/** Where the delta of a spool goes in the Go tool's format. */
export function exportPath(deltaPath: string): string {
  return `${deltaPath}${EXPORT_SUFFIX}`;
}

/** Where the spool of a store lies unless told otherwise. */
export function defaultSpoolDir(tempDir: string, location: string): string {
  const digest = createHash('sha256').update(location).digest('hex');
  return join(tempDir, `etcdbr-spool-${digest.slice(0, 16)}`);
}

export class Spool {
  readonly #dir: OwnedDir;
  readonly #location: string;
  readonly #temporary: boolean;
  #state: SpoolState;

  private constructor(dir: OwnedDir, { location, temporary }: SpoolOptions, state: SpoolState) {
    this.#dir = dir;
    this.#location = location;
    this.#temporary = temporary;
    this.#state = state;
  }

  /** LOCKED when another process writes here. What belongs to another store is set aside. */
  static async open(options: SpoolOptions): Promise<Spool> {
    const { dir, location, observe } = options;
    const owned = await acquire(dir);
    try {
      if (await isInMemory(dir)) {
        const text = `the spool ${dir} is in memory: events that wait there are lost when this machine stops`;
        observe({ kind: 'warning', text, hint: 'give a --spool-directory on a disk' });
      }
      for (const name of await owned.entries())
        if (isScratch(name)) await rm(owned.file(name), { force: true });
      const text = await readFile(owned.file(STATE_NAME), 'utf8').catch(() => undefined);
      const state = parseSpoolState(text ?? '');
      const spool = new Spool(owned, options, state ?? NO_STATE);
      if (text !== undefined && state === undefined)
        await spool.#startAnew('have lost their origin', observe);
      if (state !== undefined && state.store !== location)
        await spool.#startAnew(`belong to another store (${state.store})`, observe);
      return spool;
    } catch (error) {
      owned.release();
      throw error;
    }
  }

  get path(): string {
    return this.#dir.path;
  }

  /** Of the last object that was stored through this spool; undefined when that is not known. */
  get tip(): ChainEnd | undefined {
    return this.#state.tip;
  }

  get lineage(): number {
    return this.#state.lineage;
  }

  /** For a delta that is fetched to be looked at. */
  get scratchPath(): string {
    return this.#dir.file(SCRATCH_NAME);
  }

  pathFor(lineage: number, startRevision: bigint): string {
    const name = `${String(lineage).padStart(6, '0')}-${String(startRevision).padStart(20, '0')}.ebd`;
    return this.#dir.file(name);
  }

  /** In the order of their revisions, void ones included. */
  async files(): Promise<SpooledFile[]> {
    const found: SpooledFile[] = [];
    for (const name of await this.#dir.entries()) {
      const match = DELTA_NAME.exec(name);
      if (match !== null) found.push({ path: this.#dir.file(name), lineage: Number(match[1]) });
    }
    return found;
  }

  /** Durably: `tip` is stored, and everything of its lineage up to it. */
  async confirm(lineage: number, tip: ChainEnd): Promise<void> {
    this.#state = { lineage, tip };
    const text = formatSpoolState({ ...this.#state, store: this.#location });
    const [path, temp] = [this.#dir.file(STATE_NAME), this.#dir.file(STATE_TEMP_NAME)];
    try {
      const file = await open(temp, 'w', 0o600);
      await file.writeFile(text);
      await file.sync();
      await file.close();
      await rename(temp, path);
    } catch (error) {
      throw diskFault(path, error);
    }
  }

  /** Out of the way, kept for people. Returns where. */
  async setAside(paths: readonly string[]): Promise<string> {
    const aside = this.#dir.file(`${ASIDE_PREFIX}${Math.floor(Date.now() / 1000)}`);
    await mkdir(aside, { recursive: true, mode: 0o700 });
    for (const path of paths) await rename(path, join(aside, path.slice(path.lastIndexOf('/') + 1)));
    return aside;
  }

  /** What the state says, the store says too: only deltas are worth keeping. */
  async close(): Promise<void> {
    const entries = await this.#dir.entries();
    if (this.#temporary && entries.every((name) => name === STATE_NAME)) await this.#dir.remove();
    else this.#dir.release();
  }

  async #startAnew(why: string, observe: Observer): Promise<void> {
    const paths = (await this.files()).map((file) => file.path);
    this.#state = NO_STATE;
    await rm(this.#dir.file(STATE_NAME), { force: true });
    if (paths.length === 0) return;
    const aside = await this.setAside(paths);
    observe({ kind: 'warning', text: `${paths.length} deltas in the spool ${why}; they are in ${aside}` });
  }
}

async function acquire(dir: string): Promise<OwnedDir> {
  try {
    return await OwnedDir.acquire(dir);
  } catch (cause) {
    if (!isBackupError(cause, 'LOCKED')) throw cause;
    throw new BackupError('LOCKED', 'another process backs up to this store from here', {
      op: 'snapshot',
      object: dir,
      hint: `${cause.message}; stop that one, or give another --spool-directory`,
      cause,
    });
  }
}
