/** What can be asked of backups, whether they lie in a store or in one file. */
import type { LookRow } from '../native/index.js';
import type { ReadOptions } from './object-files.js';

export interface KeyRange {
  readonly key: Buffer;
  /** Every key that begins so. */
  readonly isPrefix: boolean;
}

export interface Answer {
  /** The state that was asked about; of a history and a difference, the newer end. */
  readonly revision: bigint;
  /** Of a history: changes up to here may be missing. -1 when nothing is. */
  readonly compacted: bigint;
  /** In order of keys; of one key's history, the oldest first. */
  readonly rows: AsyncGenerator<LookRow>;
  /** Object that a row comes from. */
  nameOf(row: LookRow): string;
}

export interface Reader {
  /** The highest revision whose state can be read. */
  newestRevision(options: ReadOptions): Promise<bigint>;

  /** The last revision at or before a time. */
  revisionAt(timeMs: number, options: ReadOptions): Promise<bigint>;

  /** The keys that were there at a revision; at the newest one without. */
  state(range: KeyRange, at: bigint | undefined, options: ReadOptions): Promise<Answer>;

  /** Every change that the backups hold. Values only where they are asked for. */
  history(
    range: KeyRange,
    options: ReadOptions & { readonly to?: bigint | undefined; readonly withValues: boolean },
  ): Promise<Answer>;

  /** Keys that differ between two revisions; `from` is not above `to`. */
  difference(range: KeyRange, from: bigint, to: bigint, options: ReadOptions): Promise<Answer>;

  close(): Promise<void>;
}
