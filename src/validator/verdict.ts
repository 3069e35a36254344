/** What a verification says. */
import type { PlanResult, RevisionRange } from '../snapshot/plan.js';

export interface VerifyOptions {
  readonly signal?: AbortSignal | undefined;
  /** From 0 to 1, of one object. */
  readonly onProgress?: ((share: number) => void) | undefined;
}

/** What was found in a database file. */
export interface DbVerdict {
  /** Undefined when it could not be read that far. */
  readonly revision: bigint | undefined;
  readonly records: number | undefined;
  readonly problems: readonly string[];
}

/** What was found in one object; for a delta `records` are its events. */
export interface ObjectFindings extends DbVerdict {
  /** Of the object as it lies in the store; undefined when it could not be read to its end. */
  readonly sha256: string | undefined;
  /** The object that it continues, by its own account. */
  readonly predecessor: Predecessor | undefined;
}

export interface Predecessor {
  readonly name: string;
  readonly sha256: string | undefined;
}

export interface ObjectVerdict extends ObjectFindings {
  readonly object: string;
  readonly bytes: number;
  /** When it was read. */
  readonly checkedAtMs: number;
  /** It was read by an earlier run, and nothing of it has changed since. */
  readonly remembered: boolean;
}

/** Something that is wrong between objects. */
export interface ChainProblem {
  readonly object: string;
  readonly text: string;
}

export interface ChainVerdict {
  /** What a restore of the newest state would do, damaged objects left out. */
  readonly plan: PlanResult;
  /** Every revision that a restore can end at, ascending. */
  readonly restorable: readonly RevisionRange[];
  readonly problems: readonly ChainProblem[];
  /** Odd, and no loss: names that are not backups, manifests without their object. */
  readonly notes: readonly string[];
}

/** One full held against the full before it and the deltas between them. */
export interface DeepVerdict {
  readonly base: string;
  readonly later: string;
  readonly deltas: number;
  readonly revision: bigint;
  /** "equal", or why nothing can be said. */
  readonly outcome: 'equal' | 'differs' | 'not comparable';
  readonly detail: string | undefined;
  readonly remembered: boolean;
}

export interface Totals {
  readonly objects: number;
  readonly bytes: number;
  /** Of these, read by this run. */
  readonly readObjects: number;
  readonly readBytes: number;
  readonly elapsedMs: number;
}

export interface SetVerdict {
  /** In the order of their last revisions. */
  readonly objects: readonly ObjectVerdict[];
  /** Damaged manifests; the objects themselves can be used without. */
  readonly manifests: readonly ChainProblem[];
  /** Deleted by somebody else while this ran. */
  readonly gone: readonly string[];
  /** Undefined when only some objects were asked for. */
  readonly chain: ChainVerdict | undefined;
  readonly deep: readonly DeepVerdict[];
  readonly totals: Totals;
}
