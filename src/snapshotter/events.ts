/**
 * What a snapshotter tells while it works: plain data for logs, metrics and the progress bar. Nothing that listens
 * can change or delay what is told of.
 */
import type { BackupError } from '../errors.js';

export type FullStage = 'stream' | 'check' | 'upload';

export type SnapshotterEvent =
  /** How this run begins, and why. */
  | { readonly kind: 'start'; readonly start: 'continue' | 'full'; readonly reason: string }
  | { readonly kind: 'watching'; readonly endpoint: string; readonly fromRevision: bigint }
  | { readonly kind: 'watch-broken'; readonly error: BackupError; readonly retryMs: number }
  | {
      readonly kind: 'full-progress';
      readonly stage: FullStage;
      readonly done: number;
      readonly total?: number;
    }
  | StoredFull
  | StoredDelta
  /** Nothing was written since the last delta. */
  | { readonly kind: 'nothing-new'; readonly revision: bigint }
  /** It is tried again after `retryMs`. */
  | {
      readonly kind: 'failed';
      readonly what: 'full' | 'upload' | 'spool' | 'capture' | 'start';
      readonly object?: string;
      readonly error: BackupError;
      readonly retryMs: number;
    }
  /** The spool took all that it may hold, or has room again. */
  | { readonly kind: 'spool-full'; readonly paused: boolean; readonly waitingBytes: number }
  | { readonly kind: 'warning'; readonly text: string; readonly hint?: string };

export interface StoredFull {
  readonly kind: 'full-stored';
  readonly name: string;
  readonly revision: bigint;
  readonly plainBytes: number;
  readonly bytes: number;
  readonly tookMs: number;
}

export interface StoredDelta {
  readonly kind: 'delta-stored';
  readonly name: string;
  readonly firstRevision: bigint;
  readonly lastRevision: bigint;
  readonly events: number;
  readonly bytes: number;
  /** When the last event arrived. */
  readonly lastEventMs: number;
}

export type Observer = (event: SnapshotterEvent) => void;
