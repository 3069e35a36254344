/**
 * What a killed run left in the spool: whole revisions that may be nowhere else. They are published when they continue
 * the stored chain and etcd does not contradict them, else set aside; never mixed into another history.
 */
import { rm } from 'node:fs/promises';
import { type BackupError, isBackupError } from '../errors.js';
import { DeltaWriter, verifyDelta } from '../native/index.js';
import { type SealedDelta, type SealOptions, seal, sealed } from './delta.js';
import type { Observer } from './events.js';
import { compareHistory, type KeyReader } from './history.js';
import type { Position } from './position.js';
import type { Spool } from './spool.js';

export interface RecoverOptions extends SealOptions {
  readonly spool: Spool;
  readonly position: Position | undefined;
  readonly etcd: KeyReader;
  readonly observe: Observer;
  readonly signal: AbortSignal;
}

/** In order; each continues the one before, the first one the position. What is not returned is out of the way. */
export async function recoverSpool(options: RecoverOptions): Promise<SealedDelta[]> {
  const found = await finishAll(options);
  const { continuing, stray } = sort(found, options.position);
  const last = continuing.at(-1);
  const why = last === undefined ? undefined : await contradiction(last, options);
  if (why !== undefined) await setAside([...continuing, ...stray], why, options);
  else if (stray.length > 0) await setAside(stray, 'they do not continue what the store holds', options);
  return why === undefined ? continuing : [];
}

/** Every file as a whole delta. What has no base or no event is removed, what cannot be read set aside. */
async function finishAll(options: RecoverOptions): Promise<SealedDelta[]> {
  const { spool } = options;
  const found: SealedDelta[] = [];
  for (const { path, lineage } of await spool.files()) {
    const delta = lineage > spool.lineage ? undefined : await finish(path, options);
    if (delta === undefined) await rm(path, { force: true });
    else if (delta !== 'unreadable') found.push(delta);
  }
  return found;
}

async function finish(
  path: string,
  options: RecoverOptions,
): Promise<SealedDelta | 'unreadable' | undefined> {
  const { config, signal, observe, spool } = options;
  try {
    const writer = await DeltaWriter.recover(path, 'zstd', { signal });
    if (writer === null) {
      const { summary } = await verifyDelta(path, path, { signal });
      return await sealed(path, summary, summary.lastTimeMs, config);
    }
    const { events, openSinceMs } = writer.stats();
    if (events === 0) return undefined;
    return await seal({ writer, cutAtMs: openSinceMs ?? Date.now() }, options);
  } catch (error) {
    if (!isBackupError(error) || PASSING.has(error.code)) throw error;
    // Killed while it was created.
    if (error.code === 'TRUNCATED') return undefined;
    const aside = await spool.setAside([path]);
    observe({
      kind: 'warning',
      text: `a delta in the spool cannot be read (${error.message}); it is in ${aside}`,
    });
    return 'unreadable';
  }
}

const PASSING: ReadonlySet<string> = new Set<BackupError['code']>([
  ...(['CANCELLED', 'NO_SPACE', 'IO', 'READ_ONLY', 'PERMISSION'] as const),
]);

function sort(
  found: readonly SealedDelta[],
  position: Position | undefined,
): { continuing: SealedDelta[]; stray: SealedDelta[] } {
  const continuing: SealedDelta[] = [];
  const stray: SealedDelta[] = [];
  let reached = position?.missing === undefined ? position?.end.revision : undefined;
  for (const delta of found) {
    const { firstRevision, lastRevision } = delta.summary;
    if (reached !== undefined && firstRevision <= reached + 1n && lastRevision > reached) {
      continuing.push(delta);
      reached = lastRevision;
    } else {
      stray.push(delta);
    }
  }
  return { continuing, stray };
}

/** Why these deltas must not be joined to the chain, or undefined. */
async function contradiction(last: SealedDelta, options: RecoverOptions): Promise<string | undefined> {
  const { etcd, signal, spool, position } = options;
  const verdict = await compareHistory(last.end.record, etcd, { signal });
  if (verdict.history === 'different') return verdict.why;
  // etcd cannot tell any more; that they continue just this object, this spool knows itself.
  if (verdict.history === 'unknown' && spool.tip?.name !== position?.end.name) return verdict.why;
  return undefined;
}

async function setAside(deltas: readonly SealedDelta[], why: string, options: RecoverOptions): Promise<void> {
  const { spool, observe, position } = options;
  const reached = position?.end.revision ?? 0n;
  const stored = deltas.filter(({ summary }) => summary.lastRevision <= reached);
  for (const { path } of stored) await rm(path, { force: true });
  const rest = deltas.filter((delta) => !stored.includes(delta));
  if (rest.length === 0) return;
  const aside = await spool.setAside(rest.map(({ path }) => path));
  const from = rest[0]?.summary.firstRevision;
  const to = rest.at(-1)?.summary.lastRevision;
  const text = `revisions ${from} to ${to} of an earlier run were not stored and are set aside in ${aside}: ${why}`;
  observe({ kind: 'warning', text, hint: 'remove the directory when nobody needs them' });
}
