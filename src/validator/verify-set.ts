/**
 * Verifies the objects of a store, several at a time, and the chain that they make. What an earlier run found sound,
 * and nothing has changed since, is not read again. The store is only read.
 */
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { BackupError } from '../errors.js';
import { type Catalog, readCatalog } from '../pipeline/catalog.js';
import { isMeant } from '../snapshot/name.js';
import type { StoredSnapshot } from '../snapshot/plan.js';
import { compareRevisions } from '../snapshot/revision.js';
import type { Store } from '../store/store.js';
import { type Keeper, Memory } from './memory.js';
import { ObjectReader } from './object-reader.js';
import type { DeepVerdict, ObjectVerdict, SetVerdict } from './verdict.js';
import { type Answer, verifyChain } from './verify-chain.js';
import { verifyDeep } from './verify-deep.js';

export interface VerifySetOptions {
  /** As typed; empty for everything. What is named is read, remembered or not. */
  readonly names: readonly string[];
  readonly tempDir: string;
  /** Objects at a time. */
  readonly maxVerifiers: number;
  /** Hold each full against the one before it and the deltas between them; of everything only. */
  readonly deep: boolean;
  /** Read everything, whatever is remembered. */
  readonly again: boolean;
  /** How long a remembered result counts. */
  readonly maxAgeMs: number;
  readonly keepers: (catalog: Catalog) => readonly Keeper[];
  /** Settles what the planner cannot know from names. */
  readonly answer?: Answer | undefined;
  readonly signal?: AbortSignal | undefined;
  readonly onVerdict?: ((verdict: ObjectVerdict) => void) | undefined;
  readonly onWarning?: ((text: string) => void) | undefined;
  readonly onCompared?: ((verdict: DeepVerdict) => void) | undefined;
  /** Records that a comparison with this full has read. */
  readonly onRecords?: ((later: string, records: number) => void) | undefined;
  readonly onProgress?: ((doneBytes: number, totalBytes: number) => void) | undefined;
}

export async function verifySet(store: Store, options: VerifySetOptions): Promise<SetVerdict> {
  const catalog = await readCatalog(store, options);
  for (const warning of catalog.warnings) options.onWarning?.(warning);
  const chosen = choose(catalog, options.names);
  await mkdir(options.tempDir, { recursive: true, mode: 0o700 });
  const workDir = await mkdtemp(join(options.tempDir, 'etcdbr-verify-'));
  try {
    const present = new Set(catalog.objects.map(({ name }) => name.text));
    const { again, names, maxAgeMs } = options;
    const memory = await Memory.open(present, {
      keepers: options.keepers(catalog),
      nowMs: Date.now(),
      maxAgeMs: again || names.length > 0 ? -1 : maxAgeMs,
    });
    return await new SetVerification(store, catalog, workDir, memory, options).run(chosen);
  } catch (error) {
    throw onDisk(error, options.tempDir);
  } finally {
    await rm(workDir, { recursive: true, force: true });
  }
}

class SetVerification {
  readonly #store: Store;
  readonly #catalog: Catalog;
  readonly #workDir: string;
  readonly #memory: Memory;
  readonly #options: VerifySetOptions;
  readonly #reader: ObjectReader;

  constructor(store: Store, catalog: Catalog, workDir: string, memory: Memory, options: VerifySetOptions) {
    this.#store = store;
    this.#catalog = catalog;
    this.#workDir = workDir;
    this.#memory = memory;
    this.#options = options;
    this.#reader = new ObjectReader({ ...options, store, catalog, memory, workDir });
  }

  async run(chosen: readonly StoredSnapshot[]): Promise<SetVerdict> {
    const reader = this.#reader;
    const { names, answer } = this.#options;
    let deep: readonly DeepVerdict[] = [];
    try {
      reader.announce(chosen.filter((object) => this.#memory.object(object) === undefined));
      if (this.#options.deep && names.length === 0) deep = await this.#compareFulls();
      await reader.readAll(chosen.filter((object) => !this.#isDone(object)));
    } catch (error) {
      throw this.#interrupted(error, chosen.length);
    } finally {
      await this.#memory.close();
    }
    const objects = chosen
      .map(({ name }) => reader.verdicts.get(name.text))
      .filter((verdict) => verdict !== undefined);
    const chain = names.length > 0 ? undefined : await verifyChain(this.#catalog, objects, answer);
    const manifests = objects.flatMap(({ object }) => {
      const text = this.#catalog.manifests.damaged.get(object);
      return text === undefined ? [] : [{ object, text }];
    });
    return { objects, manifests, gone: reader.gone, chain, deep, totals: reader.totals() };
  }

  #compareFulls(): Promise<DeepVerdict[]> {
    const { signal, onCompared, onRecords } = this.#options;
    const parts = { catalog: this.#catalog, reader: this.#reader, memory: this.#memory };
    return verifyDeep({ ...parts, workDir: this.#workDir, signal, onCompared, onProgress: onRecords });
  }

  #isDone(object: StoredSnapshot): boolean {
    return this.#reader.gone.includes(object.name.text) || this.#reader.recall(object);
  }

  #interrupted(error: unknown, wanted: number): unknown {
    const { signal } = this.#options;
    if (signal?.aborted !== true) return error;
    const done = this.#reader.verdicts.size;
    return new BackupError(
      'CANCELLED',
      `stopped (${String(signal.reason)}) after ${done} of ${wanted} objects`,
      {
        op: 'verify',
        object: this.#store.location,
        hint: this.#memory.isKept
          ? 'what is done is remembered: the same command goes on from there'
          : 'nothing of it is remembered: give --state-dir to go on from there the next time',
        cause: error,
      },
    );
  }
}

function choose({ objects }: Catalog, names: readonly string[]): StoredSnapshot[] {
  const inOrder = [...objects].sort((a, b) => compareRevisions(a.name.last, b.name.last));
  if (names.length === 0) return inOrder;
  const chosen = names.map((typed) => {
    const found = inOrder.find(({ name }) => isMeant(typed, name.text));
    if (found !== undefined) return found;
    throw new BackupError('NOT_FOUND', 'is not in the store', {
      op: 'verify',
      object: typed,
      hint: 'see the names with `list`',
    });
  });
  return [...new Set(chosen)];
}

/** A full temporary directory is the commonest failure, and has its own remedy. */
function onDisk(error: unknown, tempDir: string): unknown {
  const code = (error as NodeJS.ErrnoException | null)?.code;
  if (code !== 'ENOSPC' && code !== 'EDQUOT' && code !== 'NO_SPACE') return error;
  return new BackupError('NO_SPACE', 'there is no room for an object and what it unpacks to', {
    op: 'verify',
    object: tempDir,
    hint: 'give --snapstore-temp-directory with more room, or --max-verifiers 1',
    cause: error,
  });
}
