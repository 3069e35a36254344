/**
 * Takes backups of one etcd into one store: `--once full`, `--once delta`, or continuously until it is asked to stop.
 * What it never does: publish what was not checked, replace or delete an object, or join two histories.
 */
import { MAX_TIMER_MS, onAbort, sleep } from '../base/abort.js';
import { BackupError } from '../errors.js';
import { WRITTEN_DIR } from '../store/layout.js';
import { Agent } from './agent.js';
import { publishDelta } from './delta.js';
import { FULL_DIR_PREFIX } from './full.js';
import { LeaseBook } from './leases.js';
import { takeOneDelta, takeOneFull } from './once.js';
import { removeLeftBehind } from './owned-dir.js';
import { interrupted, once, type Persistence, persistently } from './persist.js';
import type { Parts } from './prepare.js';
import { readRestored } from './restored.js';
import type { Run, SnapshotterOptions } from './run.js';
import { defaultSpoolDir, Spool } from './spool.js';
import { Uploads } from './uploads.js';

export type { Observer, SnapshotterEvent } from './events.js';
export type { SnapshotterOptions } from './run.js';

/** Within the 30 s that Kubernetes gives a pod. */
export const DEFAULT_GRACE_MS = 25_000;

/** Resolves when everything that was asked for is stored; rejects with CANCELLED when it was stopped before. */
export async function runSnapshotter(options: SnapshotterOptions): Promise<void> {
  const { config, store, tempDir, observe } = options;
  await removeLeftBehind(tempDir, FULL_DIR_PREFIX);
  const restored = config.dataDir === undefined ? undefined : await readRestored(config.dataDir, observe);
  const grace = startGrace(options);
  const run: Run = { ...options, restored, hardSignal: grace.signal };
  try {
    await cleanUpStore(run);
    if (config.once === 'full') return await takeOneFull(run);
    if (config.once !== 'delta' && config.deltaPeriodMs === 0) return await takeFulls(run);
    const dir = config.spoolDir ?? defaultSpoolDir(tempDir, store.location);
    const temporary = config.spoolDir === undefined;
    const spool = await Spool.open({ dir, location: store.location, temporary, observe });
    try {
      await capture(run, spool);
    } finally {
      await spool.close();
    }
  } catch (error) {
    // Waits are rejected with the signal's own reason, which is just a name.
    throw options.signal.aborted && error === options.signal.reason ? interrupted(options.signal) : error;
  } finally {
    grace.end();
  }
}

async function capture(run: Run, spool: Spool): Promise<void> {
  let agent: Agent | undefined;
  const leases = new LeaseBook(run.client, { signal: run.hardSignal });
  const uploads = openUploads(run, spool, () => agent?.uploadsChanged());
  const parts: Parts = { run, spool, uploads, leases };
  if (run.config.once === 'delta') return takeOneDelta(parts);
  agent = new Agent(parts);
  await agent.work();
}

function openUploads(run: Run, spool: Spool, onChange: () => void): Uploads {
  const { store, config, observe, hardSignal: signal } = run;
  const restoredFrom = run.restored?.from;
  const persist: Persistence = persistently({
    onFailure: (error, retryMs) => observe({ kind: 'failed', what: 'upload', error, retryMs }),
  });
  return new Uploads({
    publish: (sealed, { end: previous }) =>
      publishDelta(sealed, { store, config, previous, restoredFrom, observe, signal }),
    confirm: ({ number, end }) => spool.confirm(number, end),
    persist: config.once === undefined ? persist : once,
    onChange,
    signal,
  });
}

/** Without deltas no watch is opened (B6). Later fulls come with their schedule. */
async function takeFulls(run: Run): Promise<void> {
  await takeOneFull(run);
  while (!run.signal.aborted) await sleep(MAX_TIMER_MS, { signal: run.signal }).catch(() => undefined);
}

/** What puts of killed runs left. A store that is away is met again soon enough. */
async function cleanUpStore({ store, observe, signal }: Run): Promise<void> {
  try {
    await store.cleanUp(WRITTEN_DIR, { signal });
  } catch (error) {
    signal.throwIfAborted();
    observe({
      kind: 'warning',
      text: `unfinished uploads could not be cleaned up: ${(error as Error).message}`,
    });
  }
}

/** Its signal aborts when the time for an orderly end is over. */
function startGrace({ signal, graceMs = DEFAULT_GRACE_MS }: SnapshotterOptions): {
  readonly signal: AbortSignal;
  end(): void;
} {
  const controller = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  const unhook = onAbort(signal, () => {
    const reason = new BackupError('CANCELLED', `not done within ${graceMs / 1000} s of the signal`, {
      op: 'snapshot',
    });
    timer = setTimeout(() => controller.abort(reason), graceMs);
  });
  const end = () => {
    unhook();
    clearTimeout(timer);
  };
  return { signal: controller.signal, end };
}
