/**
 * Verifies the objects of a store, several at a time, and the chain that they make. What an earlier run found sound,
 * and nothing has changed since, is not read again. The store is only read.
 */
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { deriveAbort } from '../base/abort.js';
import { Semaphore } from '../base/semaphore.js';
import { BackupError } from '../errors.js';
import { type Catalog, readCatalog } from '../pipeline/catalog.js';
import { isMeant } from '../snapshot/name.js';
import type { StoredSnapshot } from '../snapshot/plan.js';
import { compareRevisions } from '../snapshot/revision.js';
import type { Store } from '../store/store.js';
import { type Keeper, Memory } from './memory.js';
import type { ObjectVerdict, SetVerdict, Totals } from './verdict.js';
import { type Answer, verifyChain } from './verify-chain.js';
import { readThrough, recall, toRemember } from './verify-object.js';

export interface VerifySetOptions {
  /** As typed; empty for everything. What is named is read, remembered or not. */
  readonly names: readonly string[];
  readonly tempDir: string;
  /** Objects at a time. */
  readonly maxVerifiers: number;
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
  readonly onProgress?: ((doneBytes: number, totalBytes: number) => void) | undefined;
}

/** Each holds its plain database on disk while it is checked, and some 80 MB of memory. */
const FULLS_AT_A_TIME = 2;
/** Of objects and what they unpack to; a larger one goes alone. */
const MAX_DISK_BYTES = 8 * 1024 ** 3;
/** A full without a manifest does not say what it unpacks to. */
const GUESSED_RATIO = 6;

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
  readonly #startedMs = performance.now();
  readonly #store: Store;
  readonly #catalog: Catalog;
  readonly #workDir: string;
  readonly #memory: Memory;
  readonly #options: VerifySetOptions;
  readonly #fulls = new Semaphore(FULLS_AT_A_TIME);
  readonly #disk = new Semaphore(MAX_DISK_BYTES);
  readonly #verdicts: ObjectVerdict[] = [];
  readonly #gone: string[] = [];
  /** Bytes of objects that are being read, by name, as far as they are. */
  readonly #reading = new Map<string, number>();
  #doneBytes = 0;
  #totalBytes = 0;

  constructor(store: Store, catalog: Catalog, workDir: string, memory: Memory, options: VerifySetOptions) {
    this.#store = store;
    this.#catalog = catalog;
    this.#workDir = workDir;
    this.#memory = memory;
    this.#options = options;
  }

  async run(chosen: readonly StoredSnapshot[]): Promise<SetVerdict> {
    try {
      const unread = this.#recall(chosen);
      this.#totalBytes = unread.reduce((sum, { bytes }) => sum + bytes, 0);
      await this.#readAll(unread);
    } catch (error) {
      throw this.#interrupted(error, chosen.length);
    } finally {
      await this.#memory.close();
    }
    const objects = this.#verdicts.sort(byRevision(chosen));
    const { names, answer } = this.#options;
    const chain = names.length > 0 ? undefined : await verifyChain(this.#catalog, objects, answer);
    return { objects, gone: this.#gone, chain, deep: [], totals: this.#totals() };
  }

  #recall(chosen: readonly StoredSnapshot[]): StoredSnapshot[] {
    return chosen.filter((object) => {
      const known = recall(object, this.#memory);
      if (known !== undefined) this.#tell(known);
      return known === undefined;
    });
  }

  /** In order, each of the workers taking the next; the first that fails stops the others. */
  async #readAll(objects: readonly StoredSnapshot[]): Promise<void> {
    const derived = deriveAbort(this.#options.signal);
    const rest = objects.values();
    const work = async () => {
      for (const object of rest) await this.#readOne(object, derived.signal);
    };
    try {
      const workers = Array.from({ length: this.#options.maxVerifiers }, () =>
        work().catch((error: unknown) => {
          derived.abort(error);
          throw error;
        }),
      );
      const failed = (await Promise.allSettled(workers)).find(({ status }) => status === 'rejected');
      if (failed !== undefined) throw derived.signal.reason;
    } finally {
      derived.dispose();
    }
  }

  async #readOne(object: StoredSnapshot, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    const { text, kind } = object.name;
    const releaseFull = kind === 'full' ? await this.#fulls.acquire(1, { signal }) : undefined;
    try {
      const verdict = await this.#disk.run(
        diskBytes(object),
        () =>
          readThrough(this.#store, object, {
            workDir: this.#workDir,
            manifestUnread: this.#catalog.manifests.unread.has(text),
            signal,
            onProgress: (share) => this.#report(text, Math.round(object.bytes * share)),
          }),
        { signal },
      );
      if (verdict === undefined) this.#gone.push(text);
      else {
        const entry = toRemember(object, verdict);
        if (entry !== undefined) await this.#memory.add(entry);
        this.#tell(verdict);
      }
      this.#reading.delete(text);
      this.#doneBytes += object.bytes;
      this.#report();
    } finally {
      releaseFull?.();
    }
  }

  #tell(verdict: ObjectVerdict): void {
    this.#verdicts.push(verdict);
    this.#options.onVerdict?.(verdict);
  }

  #report(name?: string, bytes = 0): void {
    if (name !== undefined) this.#reading.set(name, bytes);
    const reading = [...this.#reading.values()].reduce((sum, one) => sum + one, 0);
    this.#options.onProgress?.(this.#doneBytes + reading, this.#totalBytes);
  }

  #totals(): Totals {
    const sum = (verdicts: readonly ObjectVerdict[]) =>
      verdicts.reduce((total, { bytes }) => total + bytes, 0);
    const read = this.#verdicts.filter(({ remembered }) => !remembered);
    return {
      objects: this.#verdicts.length,
      bytes: sum(this.#verdicts),
      readObjects: read.length,
      readBytes: sum(read),
      elapsedMs: performance.now() - this.#startedMs,
    };
  }

  #interrupted(error: unknown, wanted: number): unknown {
    const { signal } = this.#options;
    if (signal?.aborted !== true) return error;
    const done = this.#verdicts.length;
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

function byRevision(chosen: readonly StoredSnapshot[]): (a: ObjectVerdict, b: ObjectVerdict) => number {
  const places = new Map(chosen.map(({ name }, index) => [name.text, index]));
  return (a, b) => (places.get(a.object) ?? 0) - (places.get(b.object) ?? 0);
}

function diskBytes({ name, bytes, manifest }: StoredSnapshot): number {
  if (name.kind === 'delta') return bytes;
  return bytes + (manifest?.plain?.bytes ?? bytes * (name.codec === 'none' ? 1 : GUESSED_RATIO));
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
