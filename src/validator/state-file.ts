/**
 * Results in `<state-dir>/verified-<16 hex digits of the location's SHA-256>.jsonl`: appended line by line, so that a
 * run can be stopped at any moment, and written anew, under another name first, when entries are to go.
 */
import { appendFile, mkdir, open, readFile, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Keeper } from './memory.js';
import { headerLine, parseLines, type Remembered, sha256Of, toLine } from './remembered.js';

/** Larger is none of ours: as many entries as are kept have a quarter of that. */
const MAX_STATE_BYTES = 128 * 1024 * 1024;

export interface StateFileOptions {
  readonly dir: string;
  readonly location: string;
  /** Told what could not be read or written. */
  readonly onNote: (text: string) => void;
}

export class StateFile implements Keeper {
  readonly path: string;
  readonly #options: StateFileOptions;
  /** Appends, one after the other. */
  #writing: Promise<void> = Promise.resolve();
  #broken = false;

  constructor(options: StateFileOptions) {
    this.#options = options;
    this.path = join(options.dir, `verified-${sha256Of(options.location).slice(0, 16)}.jsonl`);
  }

  async load(): Promise<readonly Remembered[]> {
    const text = await this.#read();
    if (text === undefined) {
      await this.replace([]);
      return [];
    }
    const { entries, passedOver } = parseLines(text, this.#options.location);
    if (passedOver > 0) {
      this.#options.onNote(`${this.path}: ${passedOver} remembered results are unreadable and not used`);
      await this.replace(entries);
    }
    return entries;
  }

  append(entry: Remembered): Promise<void> {
    return this.#write(() => appendFile(this.path, toLine(entry)));
  }

  replace(entries: readonly Remembered[]): Promise<void> {
    return this.#write(async () => {
      await mkdir(this.#options.dir, { recursive: true, mode: 0o700 });
      const next = `${this.path}.${process.pid}.next`;
      try {
        const file = await open(next, 'w', 0o600);
        try {
          await file.writeFile(headerLine(this.#options.location) + entries.map(toLine).join(''));
          await file.sync();
        } finally {
          await file.close();
        }
        await rename(next, this.path);
      } catch (error) {
        await rm(next, { force: true }).catch(() => undefined);
        throw error;
      }
    });
  }

  async #read(): Promise<string | undefined> {
    try {
      const { size } = await stat(this.path);
      if (size <= MAX_STATE_BYTES) return await readFile(this.path, 'utf8');
      this.#options.onNote(`${this.path} has ${size} bytes, more than its like ever has; it is not used`);
    } catch (error) {
      const { code, message } = error as NodeJS.ErrnoException;
      if (code !== 'ENOENT') this.#options.onNote(`remembered results cannot be read: ${message}`);
    }
    return undefined;
  }

  /** After the first failure nothing more is tried. */
  #write(job: () => Promise<void>): Promise<void> {
    this.#writing = this.#writing.then(async () => {
      if (this.#broken) return;
      try {
        await job();
      } catch (error) {
        this.#broken = true;
        this.#options.onNote(`results are not remembered: ${(error as Error).message}`);
      }
    });
    return this.#writing;
  }
}
