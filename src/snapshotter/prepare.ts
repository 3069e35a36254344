/** The beginning of a run: what the store and the spool hold, what etcd says of it, and so how to go on. */
import type { EndpointStatus } from '../etcd/endpoint.js';
import { compareEnd } from './history.js';
import type { LeaseBook } from './leases.js';
import { type Position, readPosition, warnOfGoTool } from './position.js';
import { recoverSpool } from './recover.js';
import type { Run } from './run.js';
import type { Spool } from './spool.js';
import { decideStart, MAX_FULL_AGE_MS, type StartDecision } from './start.js';
import type { Lineage, Uploads } from './uploads.js';

export interface Stand {
  /** The newest full, and whether the set behind it is whole. */
  readonly position: Position | undefined;
  /** The chain behind that full; undefined when there is none. */
  readonly lineage: Lineage | undefined;
}

export interface Parts {
  readonly run: Run;
  readonly spool: Spool;
  readonly uploads: Uploads;
  readonly leases: LeaseBook;
}

/** Reads the store, and puts what a killed run left in the spool on its way. */
export async function findStand({ run, spool, uploads, leases }: Parts): Promise<Stand> {
  const { store, client, config, observe, signal } = run;
  const position = await readPosition(store, { tip: spool.tip, scratchPath: spool.scratchPath, signal });
  warnOfGoTool(position, config.gardener, observe);
  const recovered = await recoverSpool({ spool, position, etcd: client, leases, config, observe, signal });
  if (position === undefined) return { position, lineage: undefined };
  const { end } = position;
  const lineage: Lineage = { number: Math.max(spool.lineage, 1), end, sealed: end };
  await spool.confirm(lineage.number, end);
  for (const sealed of recovered) {
    lineage.sealed = sealed.end;
    uploads.add(sealed, lineage);
  }
  return { position, lineage };
}

export async function decide(run: Run, stand: Stand, status: EndpointStatus): Promise<StartDecision> {
  const { client, config, signal } = run;
  const { position, lineage } = stand;
  return decideStart({
    nowMs: Date.now(),
    full: position?.full,
    tipRevision: lineage?.sealed.revision ?? 0n,
    missing: position?.missing,
    history: await compareEnd(lineage?.sealed, client, { signal }),
    etcdRevision: status.revision,
    maxCatchUpRevisions: config.maxCatchUpRevisions,
    maxFullAgeMs: MAX_FULL_AGE_MS,
    deltasOff: false,
    unreadableForGoTool: config.gardener && position?.ownFormats === true,
  });
}
