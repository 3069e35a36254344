/**
 * Sealed deltas on their way into the store, strictly in order, one at a time: an object is there before the one
 * that continues it. They wait on disk while the store is away.
 */
import { rm } from 'node:fs/promises';
import { BackupError } from '../errors.js';
import type { SealedDelta } from './delta.js';
import type { ChainEnd } from './full.js';
import type { Persistence } from './persist.js';

/** A chain from one full on, as it grows. */
export interface Lineage {
  readonly number: number;
  /** Last object stored. */
  end: ChainEnd;
  /** Last delta sealed, which may still wait for its upload. */
  sealed: ChainEnd;
}

export interface UploadsOptions {
  readonly publish: (sealed: SealedDelta, lineage: Lineage) => Promise<ChainEnd>;
  /** Notes durably what the chain ends with. */
  readonly confirm: (lineage: Lineage) => Promise<void>;
  readonly persist: Persistence;
  /** Something was uploaded, or has failed for good. */
  readonly onChange: () => void;
  readonly signal: AbortSignal;
}

/** Without a store for this long a waiting delta more costs more than it is worth: 55 hours at the default period. */
export const MAX_WAITING_DELTAS = 10_000;

export class Uploads {
  readonly #options: UploadsOptions;
  readonly #waiting: { readonly sealed: SealedDelta; readonly lineage: Lineage }[] = [];
  #waitingBytes = 0;
  #running: Promise<void> | undefined;
  #failure: BackupError | undefined;

  constructor(options: UploadsOptions) {
    this.#options = options;
  }

  get waitingBytes(): number {
    return this.#waitingBytes;
  }

  get waitingDeltas(): number {
    return this.#waiting.length;
  }

  /** Why nothing is uploaded any more: what waited can no longer continue the chain. */
  get failure(): BackupError | undefined {
    return this.#failure;
  }

  add(sealed: SealedDelta, lineage: Lineage): void {
    this.#waiting.push({ sealed, lineage });
    this.#waitingBytes += sealed.summary.bytes;
    this.#running ??= this.#run();
  }

  /** Resolves when nothing waits any more; rejects with the failure. */
  async idle(): Promise<void> {
    await this.#running;
    if (this.#failure !== undefined) throw this.#failure;
  }

  /** Forgets the failure and what waited; returns the files. */
  clear(): string[] {
    this.#failure = undefined;
    this.#waitingBytes = 0;
    return this.#waiting.splice(0).map(({ sealed }) => sealed.path);
  }

  async #run(): Promise<void> {
    try {
      for (let next = this.#waiting[0]; next !== undefined; next = this.#waiting[0]) {
        await this.#upload(next.sealed, next.lineage);
        this.#waiting.shift();
        this.#waitingBytes -= next.sealed.summary.bytes;
        this.#options.onChange();
      }
    } catch (error) {
      this.#failure = asBackupError(error);
      this.#options.onChange();
    } finally {
      this.#running = undefined;
    }
  }

  async #upload(sealed: SealedDelta, lineage: Lineage): Promise<void> {
    const { publish, confirm, persist, signal } = this.#options;
    lineage.end = await persist(() => publish(sealed, lineage), signal);
    await persist(() => confirm(lineage), signal);
    await rm(sealed.path, { force: true });
  }
}

function asBackupError(error: unknown): BackupError {
  if (error instanceof BackupError) return error;
  return new BackupError('INTERNAL', String(error), { op: 'snapshot', cause: error });
}
