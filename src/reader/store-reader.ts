/** Answers out of a store: the objects that a restore would use, and for a history those before them. */
import { BackupError } from '../errors.js';
import { deltaMoment } from '../native/index.js';
import { momentLine } from '../pipeline/moment-line.js';
import { type DeltaAnswer, planTime } from '../snapshot/at-time.js';
import { olderSegments } from '../snapshot/older.js';
import type { StoredSnapshot } from '../snapshot/plan.js';
import type { StoreSettings } from '../store/registry.js';
import type { Store } from '../store/store.js';
import { ask } from './ask.js';
import { ChainFinder, type ChainWish } from './chain.js';
import { ObjectFiles, type ReadOptions } from './object-files.js';
import { type Part, partsOfHistory, partsOfPlan } from './parts.js';
import type { Answer, KeyRange, Reader } from './reader.js';
import { tooEarlyError } from './refusal.js';

/** Each round learns one thing. */
const MAX_ROUNDS = 64;

export interface StoreReaderOptions extends ChainWish {
  readonly store: Store;
  readonly settings: StoreSettings;
  readonly info: (text: string) => void;
}

export class StoreReader implements Reader {
  readonly #files: ObjectFiles;
  readonly #chain: ChainFinder;
  readonly #tempDir: string;
  readonly #op: string;
  readonly #info: (text: string) => void;

  constructor(objects: readonly StoredSnapshot[], options: StoreReaderOptions) {
    this.#op = options.op;
    this.#info = options.info;
    this.#tempDir = options.tempDir;
    this.#files = new ObjectFiles(options.store, options.settings, options.tempDir);
    this.#chain = new ChainFinder(objects, this.#files, options);
  }

  async newestRevision(options: ReadOptions): Promise<bigint> {
    return (await this.#chain.find(undefined, options)).revision;
  }

  async revisionAt(timeMs: number, options: ReadOptions): Promise<bigint> {
    const answers = new Map<string, DeltaAnswer>();
    for (let round = 0; round < MAX_ROUNDS; round++) {
      options.signal?.throwIfAborted();
      const found = planTime(this.#chain.input(), timeMs, answers);
      switch (found.kind) {
        case 'moment':
          this.#info(momentLine(found.moment));
          return found.moment.reached.revision;
        case 'needs-delta': {
          const { object } = found;
          const ask = (path: string) => deltaMoment(object.name.text, path, timeMs, options);
          answers.set(object.name.text, await this.#files.withDelta(object, options, ask));
          break;
        }
        case 'needs-base-revision':
          await this.#chain.learn(found.object, options);
          break;
        case 'too-early':
          throw tooEarlyError(this.#op, timeMs, found.earliest);
        case 'undecided':
          // Throws what keeps the history from being known, or learns what decides it.
          await this.#chain.find(undefined, options);
      }
    }
    throw new BackupError('CORRUPT', `no revision after ${MAX_ROUNDS} rounds`, { op: this.#op });
  }

  async state(range: KeyRange, at: bigint | undefined, options: ReadOptions): Promise<Answer> {
    const plan = await this.#chain.find(at, options);
    const revision = at ?? plan.revision;
    const query = { ask: 'state', from: 0n, to: revision, withValues: true } as const;
    return this.#ask(range, query, partsOfPlan(plan, 'both'), options);
  }

  async history(
    range: KeyRange,
    options: ReadOptions & { readonly to?: bigint | undefined; readonly withValues: boolean },
  ): Promise<Answer> {
    const { to, withValues } = options;
    const plan = await this.#chain.find(to, options);
    const parts = partsOfHistory(olderSegments(this.#chain.input(), plan));
    const query = { ask: 'history', from: 0n, to: to ?? plan.revision, withValues } as const;
    const answer = await this.#ask(range, query, parts, options);
    const oldest = parts[0]?.object ?? plan.base;
    const { compacted } = await this.#files.full(oldest, options);
    return { ...answer, compacted };
  }

  async difference(range: KeyRange, from: bigint, to: bigint, options: ReadOptions): Promise<Answer> {
    const after = await this.#chain.find(to, options);
    const query = { ask: 'difference', from, to, withValues: true } as const;
    if (after.baseRevision <= from) return this.#ask(range, query, partsOfPlan(after, 'both'), options);
    const before = await this.#chain.find(from, options);
    const isSameFull = before.base === after.base && before.deltas.length === 0;
    const parts = isSameFull
      ? partsOfPlan(after, 'both')
      : [...partsOfPlan(after, 'to'), ...partsOfPlan(before, 'from')];
    return this.#ask(range, query, parts, options);
  }

  close(): Promise<void> {
    return this.#files.close();
  }

  async #ask(
    { key, isPrefix }: KeyRange,
    query: {
      readonly ask: 'state' | 'history' | 'difference';
      readonly from: bigint;
      readonly to: bigint;
      readonly withValues: boolean;
    },
    parts: readonly Part[],
    options: ReadOptions,
  ): Promise<Answer> {
    const asked = await ask(this.#files, { key, isPrefix, ...query, tempDir: this.#tempDir }, parts, options);
    return { revision: query.to, compacted: -1n, ...asked };
  }
}
