/** What is said of a data directory. Plain data, for JSON and for people. */
import type { DataDirMode } from '../../config/data-dir.js';
import type { DbInfo, WalRepair, WalSurvey } from '../../native/index.js';

export const VERDICTS = [
  'ok',
  /** No data directory, or an empty one. */
  'nothing there',
  'damaged',
  /** Sound, and older than the store's newest backup. */
  'behind the store',
  /** Sound, and not the same history as the store's newest backup. */
  'another history',
  'wrong volume',
  /** Between the bounds, and no etcd to replay with. */
  'cannot be decided',
] as const;

export type Verdict = (typeof VERDICTS)[number];

/** As the Go tool calls the states of a data directory. */
export type GoStatus =
  | 'Valid'
  | 'WrongVolumeMounted'
  | 'NotExist'
  | 'InvStruct'
  | 'Corrupt'
  | 'BoltDBCorrupt'
  | 'StatusUnknown'
  | 'InvalidInMultiNode'
  | 'RevisionConsistencyError';

/** What initialisation does next. */
export const CONSEQUENCES = {
  start: 'etcd can start on it',
  restore: 'it has to be restored from a backup',
  rejoin: 'this member has to be removed from its cluster, emptied and added again as a learner',
  'start empty': 'there is no backup: it has to be removed, and etcd starts empty',
  stop: 'nothing is done with it: a person has to look',
} as const;

export type Consequence = keyof typeof CONSEQUENCES;

export interface RevisionFacts {
  readonly database: bigint;
  /** After the WAL, at least and at most. */
  readonly least: bigint;
  readonly most: bigint;
  /** As an etcd had it that replayed the WAL in a copy. */
  readonly replayed?: bigint | undefined;
}

export interface StoreFacts {
  readonly location: string;
  /** Undefined for a store without backups. */
  readonly newest: { readonly object: string; readonly revision: bigint } | undefined;
}

export interface DataDirVerdict {
  readonly dataDir: string;
  readonly mode: DataDirMode;
  readonly verdict: Verdict;
  readonly status: GoStatus;
  readonly consequence: Consequence;
  /** Empty when the verdict is ok. */
  readonly problems: readonly string[];
  /** Odd, or good to know. */
  readonly notes: readonly string[];
  readonly revision: RevisionFacts | undefined;
  readonly store: StoreFacts | undefined;
  readonly database: DbInfo | undefined;
  readonly records: number | undefined;
  readonly wal: WalSurvey | undefined;
  readonly repaired: WalRepair | undefined;
  /** What the verdict rests on. */
  readonly read: readonly string[];
}
