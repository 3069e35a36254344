/** Where the backups of a store stand, as a run needs it to begin: the newest set, its end, what the spool adds. */
import type { SnapshotName } from '../snapshot/name.js';
import type { Store } from '../store/store.js';
import type { Observer } from './events.js';
import type { ChainEnd } from './full.js';
import { type ChainObject, readStoredChain } from './stored-chain.js';
import { readStoredEnd } from './stored-record.js';

export interface Position {
  /** The newest full. */
  readonly full: Pick<SnapshotName, 'createdSecs' | 'final'>;
  /** The object that the set ends with. */
  readonly end: ChainEnd;
  readonly missing: bigint | undefined;
  readonly ownFormats: boolean;
  /** Its last object was written by the Go tool, as far as can be seen. */
  readonly byGoTool: boolean;
}

export interface ReadPositionOptions {
  /** What the spool knows of the last object that was stored through it. */
  readonly tip?: ChainEnd | undefined;
  /** Where a delta may be fetched to, to look at its end; undefined to leave its end unknown instead. */
  readonly scratchPath?: string | undefined;
  readonly signal: AbortSignal;
}

/** Undefined when the store holds no full. */
export async function readPosition(
  store: Store,
  { tip: known, scratchPath, signal }: ReadPositionOptions,
): Promise<Position | undefined> {
  const chain = await readStoredChain(store, { signal });
  if (chain === undefined) return undefined;
  const { full, tip, missing, ownFormats } = chain;
  const { name } = tip;
  const rest = { full: full.name, missing, ownFormats };
  if (known?.name === name.text && known.record !== undefined)
    return { ...rest, end: known, byGoTool: false };
  const { record, manifest } = await readStoredEnd(store, tip, { scratchPath, signal });
  const end = {
    name: name.text,
    sha256: manifest?.sha256,
    revision: manifest?.revision ?? name.last,
    record,
  };
  return { ...rest, end, byGoTool: manifest === undefined && !ownFormat(tip) };
}

/** Said once per run: what is written from now on, the Go tool cannot restore (architecture, decision 7). */
export function warnOfGoTool(position: Position | undefined, gardener: boolean, observe: Observer): void {
  if (gardener || position?.byGoTool !== true) return;
  observe({
    kind: 'warning',
    text: 'this store holds backups of etcdbrctl (the Go tool); it cannot restore what is written from now on',
    hint: 'for the way back: etcdbr snapshot --once full --compat gardener; to stay on its formats: --compat gardener',
  });
}

function ownFormat({ name }: ChainObject): boolean {
  return name.codec === 'zstd' || name.codec === 'ebd' || name.encrypted;
}
