/** What someone reads at 3 a.m. after a restore, as data and as lines. */
import { formatBytes } from '../base/bytes.js';
import { membersOf, startCommand } from './cluster.js';
import { time } from './refusal.js';
import type { RestoreRequest, RestoreResult } from './restore.js';

export interface RestoreReport {
  readonly dataDir: string;
  readonly revision: bigint;
  readonly keys: number;
  readonly base: string;
  readonly deltas: number;
  readonly events: number;
  /** Records above the base that were compared with the deltas, and revisions at which HashKV was. */
  readonly provenRecords: number;
  readonly provenHashes: readonly bigint[];
  /** Of the last event, or of the full when there were no deltas. */
  readonly lastEventAt: string;
  /** Newest revision that some object holds, when it could not be had. */
  readonly lostUpTo: bigint | undefined;
  readonly oldDirectory: string | undefined;
  readonly clusterId: string;
  readonly memberId: string;
  readonly members: readonly string[];
  readonly unknownLeases: { readonly leases: number; readonly keys: number };
  readonly notes: readonly string[];
  readonly command: string;
  readonly elapsedMs: number;
  readonly childPeakBytes: number | undefined;
}

export function reportOf(request: RestoreRequest, result: RestoreResult): RestoreReport {
  const { target, plan, base, applied, proof, ids, before, lostUpTo, elapsedMs } = result;
  return {
    dataDir: target.dataDir,
    revision: plan.revision,
    keys: proof.liveKeys,
    base: base.object.name.text,
    deltas: plan.deltas.length,
    events: applied?.events ?? 0,
    provenRecords: proof.records,
    provenHashes: proof.hashes,
    lastEventAt: lastEventAt(result),
    lostUpTo,
    oldDirectory: before,
    clusterId: ids.clusterId,
    memberId: ids.memberId,
    members: [...membersOf(request.initialCluster).keys()],
    unknownLeases: result.unknownLeases,
    notes: notesOf(result),
    command: startCommand(request, target.dataDir),
    elapsedMs,
    childPeakBytes: applied?.childPeakBytes,
  };
}

export function reportLines(report: RestoreReport): string[] {
  const { dataDir, revision, keys, deltas, members } = report;
  const others =
    members.length > 1
      ? `restore each of ${members.join(', ')} from the same backup, with its own --name`
      : 'wipe or restore every other member of the old cluster';
  return [
    `Restored ${dataDir} to revision ${revision}: ${keys} keys, from ${report.base} and ${deltas} deltas (${report.events} events).`,
    `Last event: ${report.lastEventAt}. ${lostLine(report)}`,
    `Proven: revisions consecutive, ${report.provenRecords} records equal to the deltas, structure checked${hashLine(report)}.`,
    report.oldDirectory === undefined
      ? 'There was no old directory.'
      : `The old directory is kept as ${report.oldDirectory}; remove it when it is no longer needed.`,
    ...report.notes.map((note) => `Note: ${note}.`),
    'Start it with:',
    `  ${report.command}`,
    `No member of the old cluster may join it: ${others}.`,
    `Took ${(report.elapsedMs / 1000).toFixed(1)} s${report.childPeakBytes === undefined ? '' : `; the replaying etcd used up to ${formatBytes(report.childPeakBytes)}`}.`,
  ];
}

function lostLine({ lostUpTo, revision }: RestoreReport): string {
  if (lostUpTo !== undefined)
    return `LOST: revisions ${revision + 1n}-${lostUpTo}, and what was written after them and is in no backup.`;
  return 'What was written after it is in no backup.';
}

function hashLine({ provenHashes }: RestoreReport): string {
  return provenHashes.length === 0 ? '' : `, HashKV equal at revision ${provenHashes.join(', ')}`;
}

function lastEventAt({ applied, base }: RestoreResult): string {
  if (applied?.lastEventMs !== undefined) return new Date(applied.lastEventMs).toISOString();
  const { manifest, name } = base.object;
  return manifest?.endedAtMs === undefined
    ? time(name.createdSecs)
    : new Date(manifest.endedAtMs).toISOString();
}

/** What the watch does not carry, and what the base brings along (hazards 5, 39, 40). */
function notesOf({ base, proof, plan, unknownLeases }: RestoreResult): string[] {
  const notes: string[] = [];
  const { leases, keys } = unknownLeases;
  if (keys > 0)
    notes.push(
      `${keys} keys refer to ${leases} leases whose time to live is in no backup; those keys do not expire`,
    );
  if (proof.info.authEnabled) {
    const since =
      plan.deltas.length === 0
        ? ''
        : `; changes of users and roles after revision ${base.info.revision} are not in deltas`;
    notes.push(`authentication is on, as in the full${since}`);
  }
  if (proof.info.alarms.length > 0) {
    notes.push(
      `alarm ${proof.info.alarms.join(', ')} is set, as in the full: etcd refuses writes until \`etcdctl alarm disarm\``,
    );
  }
  return notes;
}
