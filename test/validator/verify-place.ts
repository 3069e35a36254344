/** A copy of a set that a test may damage, verified through a store that counts what is read. */
import { cp, readdir, readFile, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'vitest';
import { LocalStore } from '../../src/store/local/local-store.js';
import { MeteredStore } from '../../src/store/metered.js';
import type { Store } from '../../src/store/store.js';
import type { Keeper } from '../../src/validator/memory.js';
import { StateFile } from '../../src/validator/state-file.js';
import { StoredResults } from '../../src/validator/stored-results.js';
import type { SetVerdict } from '../../src/validator/verdict.js';
import { type VerifySetOptions, verifySet } from '../../src/validator/verify-set.js';
import { tempDir } from '../servers/process.js';

export type VerifyChange = Partial<Omit<VerifySetOptions, 'keepers'>> & {
  /** Below the place; nothing is remembered without. */
  readonly stateDir?: string;
  readonly remember?: boolean;
  readonly store?: Store;
};

export class VerifyPlace {
  readonly dir: string;
  readonly container: string;
  readonly notes: string[] = [];
  readonly warnings: string[] = [];
  /** Gets of the last run that gave bytes, and these. */
  gets = 0;
  bytesRead = 0;
  puts = 0;

  private constructor(dir: string) {
    this.dir = dir;
    this.container = join(dir, 'store');
  }

  static async copyOf(container: string): Promise<VerifyPlace> {
    const place = new VerifyPlace(tempDir('verify'));
    await cp(container, place.container, { recursive: true, preserveTimestamps: true });
    return place;
  }

  path(name: string): string {
    return join(this.container, 'v2', name);
  }

  manifest(name: string): string {
    return this.path(join('manifest', `${name}.json`));
  }

  async verify({ stateDir, remember, store, ...change }: VerifyChange = {}): Promise<SetVerdict> {
    [this.gets, this.bytesRead, this.puts] = [0, 0, 0];
    const metered = new MeteredStore(store ?? new LocalStore({ root: this.container }), {
      operation: ({ operation, bytes }) => {
        if (operation === 'get') this.gets += 1;
        if (operation === 'get') this.bytesRead += bytes;
        if (operation === 'put') this.puts += 1;
      },
    });
    const onNote = (text: string) => void this.notes.push(text);
    let inStore: StoredResults | undefined;
    const keepers = ({ verified: keys }: { verified: readonly string[] }): Keeper[] => {
      const inFile =
        stateDir && new StateFile({ dir: join(this.dir, stateDir), location: metered.location, onNote });
      inStore = remember ? new StoredResults(metered, { keys, onNote }) : undefined;
      return [inFile, inStore].filter((keeper) => typeof keeper === 'object');
    };
    try {
      return await verifySet(metered, {
        ...{ names: [], tempDir: join(this.dir, 'temp'), maxVerifiers: 4, again: false, deep: false },
        ...{ maxAgeMs: 3_600_000, keepers, onWarning: (text) => void this.warnings.push(text) },
        ...change,
      });
    } finally {
      await inStore?.write(Date.now());
      expect(await readdir(join(this.dir, 'temp'))).toEqual([]);
    }
  }

  /** Other bytes, same length, same time: only reading can tell. */
  async changeUnseen(name: string, at: number): Promise<void> {
    const seconds = 1_700_000_000;
    await this.flip(name, at);
    await utimes(this.path(name), seconds, seconds);
  }

  /** Turns one bit over. */
  async flip(name: string, at: number): Promise<void> {
    const bytes = await readFile(this.path(name));
    const place = at < 0 ? bytes.length + at : at;
    bytes.writeUInt8(bytes.readUInt8(place) ^ 1, place);
    await writeFile(this.path(name), bytes);
  }
}

export function problemsOf({ objects }: SetVerdict, name: string): string {
  return objects.find(({ object }) => object === name)?.problems.join('\n') ?? 'not verified';
}

export function damagedOf({ objects }: SetVerdict): string[] {
  return objects.filter(({ problems }) => problems.length > 0).map(({ object }) => object);
}
