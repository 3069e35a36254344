/**
 * Results of earlier runs. They lie in a file of `--state-dir` and, only where that was asked for, in the store. A
 * memory that cannot be read or written is told once and costs time, never a result.
 */
import type { StoredSnapshot } from '../snapshot/plan.js';
import {
  isSame,
  type Remembered,
  type RememberedDeep,
  type RememberedObject,
  sha256Of,
} from './remembered.js';

/** Of the objects of one store; the newest are kept. */
export const MAX_ENTRIES = 50_000;

/** Where results are kept. Neither call throws, but when it was cancelled. */
export interface Keeper {
  load(): Promise<readonly Remembered[]>;
  /** One more, at once: what is done stays done when the run is stopped. */
  append(entry: Remembered): Promise<void>;
  /** Everything anew: nothing of what is gone is left. */
  replace(entries: readonly Remembered[]): Promise<void>;
}

export interface MemoryOptions {
  readonly keepers: readonly Keeper[];
  readonly nowMs: number;
  readonly maxAgeMs: number;
}

export class Memory {
  readonly #options: MemoryOptions;
  readonly #entries = new Map<string, Remembered>();
  #changed = false;

  private constructor(options: MemoryOptions) {
    this.#options = options;
  }

  /** Reads what is remembered and forgets what is not in the store any more. */
  static async open(present: ReadonlySet<string>, options: MemoryOptions): Promise<Memory> {
    const memory = new Memory(options);
    for (const keeper of options.keepers) {
      for (const entry of await keeper.load()) {
        if (present.has(entry.object)) memory.#take(entry);
        else memory.#changed = true;
      }
    }
    return memory;
  }

  get isKept(): boolean {
    return this.#options.keepers.length > 0;
  }

  object(object: StoredSnapshot): RememberedObject | undefined {
    const entry = this.#entries.get(`object ${object.name.text}`);
    return entry?.kind === 'object' && isSame(entry, object, this.#options) ? entry : undefined;
  }

  /** Whether these two fulls, with these deltas, were compared before. */
  deep(id: string): RememberedDeep | undefined {
    const entry = this.#entries.get(`deep ${id}`);
    const ageMs = this.#options.nowMs - (entry?.checkedAtMs ?? 0);
    return entry?.kind === 'deep' && ageMs >= 0 && ageMs <= this.#options.maxAgeMs ? entry : undefined;
  }

  async add(entry: Remembered): Promise<void> {
    this.#take(entry);
    this.#changed = true;
    for (const keeper of this.#options.keepers) await keeper.append(entry);
  }

  /** At the end of a run: one entry each, the newest that there is room for, and nothing of what is gone. */
  async close(): Promise<void> {
    if (!this.#changed) return;
    const newest = [...this.#entries.values()].sort((a, b) => b.checkedAtMs - a.checkedAtMs);
    for (const keeper of this.#options.keepers) await keeper.replace(newest.slice(0, MAX_ENTRIES));
  }

  /** Of two entries the younger counts. */
  #take(entry: Remembered): void {
    const key = entry.kind === 'deep' ? `deep ${entry.id}` : `object ${entry.object}`;
    const known = this.#entries.get(key);
    if (known === undefined || known.checkedAtMs <= entry.checkedAtMs) this.#entries.set(key, entry);
  }
}

/** Names a comparison by all that goes into it. */
export function deepId(parts: readonly string[]): string {
  return sha256Of(parts.join('\n'));
}
