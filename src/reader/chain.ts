/**
 * Which objects answer a question. The planner of restores chooses: the state of a revision is that of a restore to it.
 * Only where no full lies at or below the revision may one above it answer, since a full remembers what was not compacted.
 */
import { BackupError } from '../errors.js';
import { planRestore } from '../snapshot/chain.js';
import type { ContentAnswer, Plan, PlanInput, StoredSnapshot } from '../snapshot/plan.js';
import { compareRevisions } from '../snapshot/revision.js';
import { answerQuestion } from './answers.js';
import type { ObjectFiles, ReadOptions } from './object-files.js';
import { forkError, gapError, nothingError, withWayAround } from './refusal.js';

/** Each round learns the revision of one full, or that two timelines cannot be told apart. */
const MAX_ROUNDS = 64;
/** Fulls above the revision that are opened to see how far back they remember. */
const MAX_LATER_FULLS = 4;

export interface ChainWish {
  readonly op: string;
  readonly exclude: readonly string[];
  readonly timeline: 'newest' | 'highest' | undefined;
  readonly tempDir: string;
  readonly warn: (text: string) => void;
}

export class ChainFinder {
  readonly #objects: readonly StoredSnapshot[];
  readonly #files: ObjectFiles;
  readonly #wish: ChainWish;
  readonly #baseRevisions = new Map<string, bigint>();
  readonly #answers: ContentAnswer[] = [];
  readonly #told = new Set<string>();

  constructor(objects: readonly StoredSnapshot[], files: ObjectFiles, wish: ChainWish) {
    this.#objects = objects;
    this.#files = files;
    this.#wish = wish;
  }

  /** What the planner was told: for whoever plans on from here. */
  input(): PlanInput {
    const { exclude, timeline } = this.#wish;
    return {
      objects: this.#objects,
      baseRevisions: this.#baseRevisions,
      answers: this.#answers,
      exclude,
      timeline,
    };
  }

  /** The newest state without a revision. A plan whose base is above the revision consists of that base. */
  async find(targetRevision: bigint | undefined, options: ReadOptions): Promise<Plan> {
    for (let round = 0; round < MAX_ROUNDS; round++) {
      options.signal?.throwIfAborted();
      const result = planRestore({ ...this.input(), targetRevision });
      this.#tell(result.warnings);
      if (result.kind === 'ready') return result.plan;
      if (result.kind === 'fork') throw forkError(this.#wish.op, result.branches);
      if (result.kind === 'questions') {
        for (const question of result.questions)
          this.#answers.push(await answerQuestion(this.#files, question, this.#wish, options));
        continue;
      }
      const unread = result.kind === 'needs-base-revision' ? result.plan : unknownBase(result);
      if (unread !== undefined) {
        await this.learn(unread.base, options);
        continue;
      }
      const later = targetRevision === undefined ? undefined : await this.#laterFull(targetRevision, options);
      if (later !== undefined) return later;
      if (result.kind === 'gap') throw gapError(this.#wish.op, result);
      if (result.kind === 'nothing') throw nothingError(this.#wish.op, result.reason, result.nearest);
    }
    throw new BackupError('CORRUPT', `no plan after ${MAX_ROUNDS} rounds`, { op: this.#wish.op });
  }

  /** Reads the true revision of a full. */
  async learn(object: StoredSnapshot, options: ReadOptions): Promise<bigint> {
    try {
      const { revision } = await this.#files.full(object, options);
      this.#baseRevisions.set(object.name.text, revision);
      return revision;
    } catch (error) {
      throw withWayAround(error, object.name.text);
    }
  }

  /** The lowest full of this history above the revision, if it remembers that far back. */
  async #laterFull(target: bigint, options: ReadOptions): Promise<Plan | undefined> {
    const stated = ({ name, manifest }: StoredSnapshot) => manifest?.revision ?? name.last;
    const above = this.#objects
      .filter((object) => object.name.kind === 'full' && stated(object) > target)
      .sort((a, b) => compareRevisions(stated(a), stated(b)));
    for (const object of above.slice(0, MAX_LATER_FULLS)) {
      const planned = planRestore({ ...this.input(), base: object.name.text });
      if (planned.kind !== 'ready' && planned.kind !== 'needs-base-revision' && planned.kind !== 'gap')
        continue;
      const revision = await this.learn(object, options);
      const { compacted } = await this.#files.full(object, options);
      if (compacted <= target)
        return {
          base: object,
          baseRevision: revision,
          baseRevisionKnown: true,
          deltas: [],
          revision,
          bytes: object.bytes,
        };
    }
    return undefined;
  }

  #tell(warnings: readonly { readonly object?: string | undefined; readonly text: string }[]): void {
    for (const { object, text } of warnings) {
      const line = object === undefined ? text : `${object}: ${text}`;
      if (!this.#told.has(line)) this.#wish.warn(line);
      this.#told.add(line);
    }
  }
}

function unknownBase(result: { readonly kind: string; readonly best?: Plan }): Plan | undefined {
  return result.best !== undefined && !result.best.baseRevisionKnown ? result.best : undefined;
}
