/** What all parts of one run share. */
import type { BackupConfig } from '../config/backup.js';
import type { EtcdClient } from '../etcd/client.js';
import type { Store } from '../store/store.js';
import type { Observer } from './events.js';
import type { ChainEnd } from './full.js';
import { type TakenFull, takeFull } from './full.js';
import type { Persistence } from './persist.js';
import type { Restored } from './restored.js';

export interface SnapshotterOptions {
  readonly client: EtcdClient;
  readonly store: Store;
  readonly config: BackupConfig;
  readonly tempDir: string;
  /** Of a whole snapshot stream; 0 for none. */
  readonly snapshotTimeoutMs: number;
  readonly observe: Observer;
  /** Asks for an orderly end: what etcd has written by then is flushed as a last delta. */
  readonly signal: AbortSignal;
  /** How long the orderly end may take. */
  readonly graceMs?: number | undefined;
}

export interface Run extends SnapshotterOptions {
  readonly restored: Restored | undefined;
  /** Aborted when the grace time is over: everything ends. */
  readonly hardSignal: AbortSignal;
}

/** A full beside whatever else runs: at the start of a set, on its schedule, or on demand. */
export function fullOf(
  run: Run,
  before: ChainEnd | undefined,
  upload: Persistence,
  signal: AbortSignal,
): Promise<TakenFull> {
  return takeFull({
    client: run.client,
    store: run.store,
    tempDir: run.tempDir,
    codec: run.config.fullCodec,
    streamTimeoutMs: run.snapshotTimeoutMs,
    restoredFrom: run.restored?.from,
    before,
    upload,
    observe: run.observe,
    signal,
  });
}
