/**
 * From what the store holds to a plan whose base has been read. The planner is asked again with each thing that only
 * content can tell: the true revision of a base, whether two timelines are one, that an object is damaged.
 */
import { rm } from 'node:fs/promises';
import { BackupError } from '../errors.js';
import type { FetchSource } from '../pipeline/fetch.js';
import { type DeltaAnswer, type Moment, planTime } from '../snapshot/at-time.js';
import { planRestore } from '../snapshot/chain.js';
import type { ContentAnswer, Plan, PlanInput, PlanResult, StoredSnapshot } from '../snapshot/plan.js';
import { restorableRanges } from '../snapshot/restorable.js';
import { answerQuestion, askDelta } from './answers.js';
import { type Base, type BaseOptions, openBase } from './base.js';
import { isDamage } from './damage.js';
import { forkError, gapError, nothingError, olderError, tooEarlyError } from './refusal.js';

/** Each round learns one thing; a set that needs more is not worth guessing at. */
const MAX_ROUNDS = 64;

export interface Wish {
  readonly base: string | undefined;
  readonly exclude: readonly string[];
  readonly allowOlder: boolean;
  readonly timeline: 'newest' | 'highest' | undefined;
  readonly toRevision: bigint | undefined;
  readonly toTimeMs: number | undefined;
  /** Flags that name store and target, for commands that the reader can copy. */
  readonly command: string;
}

export interface Choice {
  readonly plan: Plan;
  readonly base: Base;
  /** What was wished for, or else the newest revision that any object holds, when it is above the plan's. */
  readonly lostUpTo: bigint | undefined;
  /** What a wished time was found to be. */
  readonly moment: Moment | undefined;
}

/** Remembers what was learned from one plan to the next, and the base that is on disk. */
export class Chooser {
  readonly #objects: readonly StoredSnapshot[];
  readonly #source: FetchSource;
  readonly #wish: Wish;
  readonly #options: BaseOptions;
  readonly #baseRevisions = new Map<string, bigint>();
  readonly #answers: ContentAnswer[] = [];
  readonly #arrivals = new Map<string, DeltaAnswer>();
  /** Objects that turned out to be damaged, with the first thing that was wrong. */
  readonly #damaged = new Map<string, BackupError>();
  /** The last revision of deltas that were to tell a time, and could not. */
  #silent = 0n;
  readonly #told = new Set<string>();
  #wanted = 0n;
  #base: Base | undefined;

  constructor(objects: readonly StoredSnapshot[], source: FetchSource, wish: Wish, options: BaseOptions) {
    this.#objects = objects;
    this.#source = source;
    this.#wish = wish;
    this.#options = options;
  }

  /** `onPlan` hears of each plan before its base is read, which takes long. */
  async choose(onPlan: (plan: Plan) => Promise<void>): Promise<Choice> {
    for (let round = 0; round < MAX_ROUNDS; round++) {
      this.#options.signal?.throwIfAborted();
      const target = await this.#target();
      if (target === undefined) continue;
      const result = planRestore({ ...this.#input(), targetRevision: target.revision });
      this.#tell(result);
      const plan = await this.#consider(result);
      if (plan === undefined) continue;
      await onPlan(plan);
      const base = await this.#read(plan.base);
      // Planned from a name or a manifest that was wrong: the content counts.
      if (base === undefined || base.info.revision !== plan.baseRevision || !plan.baseRevisionKnown) continue;
      const lostUpTo = this.#wanted > plan.revision ? this.#wanted : undefined;
      return { plan, base, lostUpTo, moment: target.moment };
    }
    const what = `no plan after ${MAX_ROUNDS} rounds; the last damaged object is ${[...this.#damaged.keys()].at(-1)}`;
    throw new BackupError('CORRUPT', what, { op: 'restore', hint: 'choose a full with --base' });
  }

  /** The object cannot be used: the next choice does without. Throws when that is not for us to decide. */
  exclude(object: string, error: BackupError): void {
    this.#damaged.set(object, error);
    this.#options.observer.warn(`${error.message}; looking for another way without ${object}`);
  }

  isPlanned(object: string | undefined): boolean {
    return this.#objects.some(({ name }) => name.text === object);
  }

  /** Where to end; undefined when that is to be asked again. */
  async #target(): Promise<{ revision: bigint | undefined; moment?: Moment } | undefined> {
    const { toRevision, toTimeMs } = this.#wish;
    if (toTimeMs === undefined) return { revision: toRevision };
    const found = planTime(this.#input(), toTimeMs, this.#arrivals);
    switch (found.kind) {
      case 'moment':
        this.#raiseUnlessExact(found.moment);
        return { revision: found.moment.reached.revision, moment: found.moment };
      case 'needs-delta':
        await this.#ask(found.object, toTimeMs);
        return undefined;
      case 'needs-base-revision':
        await this.#read(found.object);
        return undefined;
      case 'too-early':
        throw [...this.#damaged.values()][0] ?? tooEarlyError(toTimeMs, found.earliest);
      case 'undecided':
        this.#tell(found.result);
        await this.#consider(found.result);
        return undefined;
    }
  }

  async #ask(object: StoredSnapshot, timeMs: number): Promise<void> {
    try {
      const answer = await askDelta(this.#source, object, timeMs, this.#options);
      this.#arrivals.set(object.name.text, answer);
    } catch (error) {
      if (!isDamage(error)) throw error;
      this.exclude(object.name.text, error);
      if (object.name.last > this.#silent) this.#silent = object.name.last;
    }
  }

  /** What a damaged object would have told of the time may be more than what the others know. */
  #raiseUnlessExact({ reached, next, unknown }: Moment): void {
    if (this.#damaged.size === 0) return;
    if (unknown !== undefined) this.#raise(unknown.to);
    if (next === undefined && this.#silent > reached.revision) this.#raise(this.#silent);
  }

  #input(): PlanInput {
    const { base, exclude, timeline } = this.#wish;
    return {
      objects: this.#objects,
      baseRevisions: this.#baseRevisions,
      answers: this.#answers,
      base,
      exclude: [...exclude, ...this.#damaged.keys()],
      timeline,
    };
  }

  /** The plan to go on with; undefined when the planner is to be asked again. */
  async #consider(result: PlanResult): Promise<Plan | undefined> {
    switch (result.kind) {
      case 'ready':
      case 'needs-base-revision':
        this.#raise(result.plan.revision);
        return this.#acceptOlder(result.plan);
      case 'gap':
        this.#raise(result.wanted);
        if (!result.best.baseRevisionKnown) return result.best;
        if (this.#damaged.size > 0) return this.#acceptOlder(result.best);
        if (!this.#wish.allowOlder)
          throw gapError(result, this.#wish.command, restorableRanges(this.#input()));
        return result.best;
      case 'questions':
        for (const question of result.questions) {
          this.#answers.push(await answerQuestion(this.#source, question, this.#options));
        }
        return undefined;
      case 'fork':
        throw forkError(result.branches, this.#wish.command);
      case 'nothing':
        throw (
          [...this.#damaged.values()][0] ??
          nothingError(result.reason, result.nearest, restorableRanges(this.#input()))
        );
    }
  }

  /** Where damage costs revisions, the reader must have agreed to it. */
  #acceptOlder(plan: Plan): Plan {
    const [first] = this.#damaged.values();
    if (first === undefined || plan.revision >= this.#wanted || this.#wish.allowOlder) return plan;
    if (!plan.baseRevisionKnown) return plan;
    throw olderError(first, plan, [...this.#damaged.keys()], this.#wanted, this.#wish.command);
  }

  #raise(revision: bigint): void {
    if (revision > this.#wanted) this.#wanted = revision;
  }

  /** The base of a plan, from the store when it is not the one on disk; undefined when it is damaged. */
  async #read(object: StoredSnapshot): Promise<Base | undefined> {
    if (this.#base?.object.name.text === object.name.text) return this.#base;
    if (this.#base !== undefined) await rm(this.#base.path, { force: true });
    this.#base = undefined;
    try {
      this.#base = await openBase(this.#source, object, this.#options);
      this.#baseRevisions.set(object.name.text, this.#base.info.revision);
      return this.#base;
    } catch (error) {
      if (!isDamage(error)) throw error;
      this.exclude(object.name.text, error);
      return undefined;
    }
  }

  #tell({ warnings }: PlanResult): void {
    for (const { object, text } of warnings) {
      const line = object === undefined ? text : `${object}: ${text}`;
      if (!this.#told.has(line)) this.#options.observer.warn(line);
      this.#told.add(line);
    }
  }
}
