/** What `planRestore` is asked and what it answers: plain data, without IO or clock. */
import type { Manifest } from './manifest.js';
import type { SnapshotName } from './name.js';

export interface StoredSnapshot {
  readonly key: string;
  readonly name: SnapshotName;
  readonly bytes: number;
  /** When it was stored, by the store's clock, milliseconds. */
  readonly modifiedMs?: number | undefined;
  readonly manifest?: Manifest | undefined;
}

export interface PlanInput {
  /** Everything that the store holds, in any order, damaged objects included: their names are evidence. */
  readonly objects: readonly StoredSnapshot[];
  /** True revisions of fulls that have been read, by name. */
  readonly baseRevisions?: ReadonlyMap<string, bigint> | undefined;
  readonly answers?: readonly ContentAnswer[] | undefined;
  /** Restore to exactly this revision; the newest otherwise. */
  readonly targetRevision?: bigint | undefined;
  /** Restore from this full: key, name, or name without suffixes. */
  readonly base?: string | undefined;
  /** Objects that must not be read: damaged, or unwanted. Their names still count as evidence of a fork. */
  readonly exclude?: readonly string[] | undefined;
  readonly timeline?: 'newest' | 'highest' | undefined;
}

export interface RevisionRange {
  readonly from: bigint;
  readonly to: bigint;
}

export interface PlannedDelta extends RevisionRange {
  readonly object: StoredSnapshot;
  /** Others that hold the whole of this range. To use one, exclude the object and plan again. */
  readonly alternatives: readonly StoredSnapshot[];
}

export interface Plan {
  readonly base: StoredSnapshot;
  readonly baseRevision: bigint;
  /** False while only the name says which revision the base holds. */
  readonly baseRevisionKnown: boolean;
  /** Each continues where the one before ends; what they hold below `from` is to be passed over. */
  readonly deltas: readonly PlannedDelta[];
  readonly revision: bigint;
  readonly bytes: number;
}

/** Does the last record of `lower` stand in `higher`, with equal key and value? */
export interface ContentQuestion {
  readonly lower: StoredSnapshot;
  readonly higher: StoredSnapshot;
}

/** "unknown" when it cannot be told: compacted away, unreadable, or too dear to read. */
export type Verdict = 'stands' | 'differs' | 'unknown';

export interface ContentAnswer {
  /** Names of the objects. */
  readonly lower: string;
  readonly higher: string;
  readonly verdict: Verdict;
}

export interface Branch {
  /** The object that the timeline begins with. */
  readonly first: string;
  readonly begins: 'oldest' | 'restore' | 'undeclared';
  readonly lowestRevision: bigint;
  readonly highestRevision: bigint;
  readonly oldestSecs: number;
  readonly newestSecs: number;
  readonly objects: number;
  readonly bytes: number;
  /** What `--timeline newest` and `--timeline highest` would choose. */
  readonly isNewest: boolean;
  readonly isHighest: boolean;
  readonly plan: Plan;
}

export interface PlanWarning {
  readonly object?: string | undefined;
  readonly text: string;
}

export type PlanResult = { readonly warnings: readonly PlanWarning[] } & (
  | { readonly kind: 'ready'; readonly plan: Plan }
  /** The base has no manifest: read it, then ask again with its revision. `plan` holds if its name is right. */
  | { readonly kind: 'needs-base-revision'; readonly base: StoredSnapshot; readonly plan: Plan }
  /** Two timelines, or one? Ask again with the answers. */
  | { readonly kind: 'questions'; readonly questions: readonly ContentQuestion[] }
  | {
      readonly kind: 'gap';
      /** The revision that was asked for, or the highest that any object holds. */
      readonly wanted: bigint;
      /** In no usable object. */
      readonly missing: readonly RevisionRange[];
      /** The highest revision that can be had, then lower ones. */
      readonly best: Plan;
      readonly nextBest: readonly Plan[];
    }
  | { readonly kind: 'fork'; readonly branches: readonly Branch[] }
  /** There is no full to begin with. `nearest` is what could be had above the target. */
  | { readonly kind: 'nothing'; readonly reason: string; readonly nearest?: Plan | undefined }
);
