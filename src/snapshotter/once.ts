/** One object, then the end: for cron jobs and people. What goes wrong is told at once and not waited for. */
import { MAX_TIMER_MS, raceAbort } from '../base/abort.js';
import { BackupError } from '../errors.js';
import { once } from './persist.js';
import { readPosition, warnOfGoTool } from './position.js';
import { decide, findStand, type Parts } from './prepare.js';
import { fullOf, type Run } from './run.js';
import { Session } from './session.js';
import type { StartDecision } from './start.js';
import type { Lineage } from './uploads.js';

export async function takeOneFull(run: Run): Promise<void> {
  const { store, config, observe, signal } = run;
  const position = await readPosition(store, { signal });
  warnOfGoTool(position, config.gardener, observe);
  await fullOf(run, position?.end, once, signal);
}

/** From the last stored revision to the one that etcd has now. */
export async function takeOneDelta({ run, ...parts }: Parts): Promise<void> {
  const { client, observe, signal } = run;
  const status = await client.status({ signal });
  const stand = await findStand({ run, ...parts });
  const decision = await decide(run, stand, status);
  const before = stand.lineage;
  if (decision.start === 'full' || before === undefined) throw needsFull(decision);
  if (before.sealed.revision >= status.revision) {
    observe({ kind: 'nothing-new', revision: before.sealed.revision });
    return raceAbort(parts.uploads.idle(), signal);
  }
  await capture({ run, ...parts }, before, status);
  await raceAbort(parts.uploads.idle(), signal);
}

async function capture(
  { run, ...parts }: Parts,
  before: Lineage,
  status: Awaited<ReturnType<Run['client']['status']>>,
): Promise<void> {
  const session = new Session({
    ...{ run, ...parts, status, before, start: 'continue', limits: NO_LIMITS },
    outageLimitMs: run.client.connection.connectionTimeoutMs,
  });
  try {
    await session.begin(run.signal);
    const reached = session.watch.reached(status.revision, Number.POSITIVE_INFINITY);
    await Promise.race([session.broken(run.signal), reached]);
  } finally {
    await session.close();
  }
}

/** One delta, whatever its size; only the spool bounds it. */
const NO_LIMITS = {
  periodMs: MAX_TIMER_MS,
  bytes: Number.POSITIVE_INFINITY,
  events: Number.POSITIVE_INFINITY,
};

function needsFull({ reason }: StartDecision): BackupError {
  return new BackupError('STALE', `a delta cannot continue what is stored: ${reason}`, {
    op: 'snapshot --once delta',
    hint: 'take a full: snapshot --once full',
  });
}
