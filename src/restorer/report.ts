/** What someone reads at 3 a.m. after a restore, as data and as lines. */
import { formatBytes } from '../base/bytes.js';
import type { DbInfo } from '../native/index.js';
import { momentLine } from '../pipeline/moment-line.js';
import type { Moment } from '../snapshot/at-time.js';
import type { Rewritten } from './applier.js';
import { startCommand } from './cluster.js';
import { time } from './refusal.js';
import { minorOf, newestVersion } from './replay-version.js';
import type { RestoreRequest, RestoreResult } from './restore.js';

export interface RestoreReport {
  readonly dataDir: string;
  readonly revision: bigint;
  /** By --bump-revision; undefined without. */
  readonly raisedRevision: bigint | undefined;
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
  /** The revision that was asked for; undefined when it was the newest, or a time. */
  readonly toRevision: bigint | undefined;
  /** What the time that was asked for was found to be. */
  readonly moment: Moment | undefined;
  readonly oldDirectory: string | undefined;
  readonly clusterId: string;
  readonly memberId: string;
  readonly members: readonly string[];
  readonly unknownLeases: { readonly leases: number; readonly keys: number };
  readonly notes: readonly string[];
  readonly command: string;
  /** What must start it, such as "3.6 or newer"; undefined when nothing says so. */
  readonly etcdVersion: string | undefined;
  readonly elapsedMs: number;
  readonly childPeakBytes: number | undefined;
  /** When the database was written anew. */
  readonly rewritten: Rewritten | undefined;
}

export function reportOf(request: RestoreRequest, result: RestoreResult): RestoreReport {
  const { target, plan, base, applied, proof, cluster, ids, before, lostUpTo, elapsedMs } = result;
  return {
    dataDir: target.dataDir,
    revision: plan.revision,
    raisedRevision: result.raisedRevision,
    keys: proof.liveKeys,
    base: base.object.name.text,
    deltas: plan.deltas.length,
    events: applied.events,
    provenRecords: proof.records,
    provenHashes: proof.hashes,
    lastEventAt: lastEventAt(result),
    lostUpTo,
    toRevision: request.toRevision,
    moment: result.moment,
    oldDirectory: before,
    clusterId: ids.clusterId,
    memberId: ids.memberId,
    members: cluster.members,
    unknownLeases: result.unknownLeases,
    notes: notesOf(request, result),
    command: startCommand(cluster, target.dataDir, proof.info.dataBytes),
    etcdVersion: etcdVersionOf(request, proof.info),
    elapsedMs,
    childPeakBytes: applied.childPeakBytes,
    rewritten: applied.rewritten,
  };
}

export function reportLines(report: RestoreReport): string[] {
  const { dataDir, revision, keys, deltas, members } = report;
  const others =
    members.length > 1
      ? `restore each of ${members.join(', ')} from the same backup, with its own --name and --initial-advertise-peer-urls and all else the same`
      : 'wipe or restore every other member of the old cluster';
  return [
    `Restored ${dataDir} to revision ${revision}: ${keys} keys, from ${report.base} and ${deltas} deltas (${report.events} events).`,
    ...(report.moment === undefined ? [] : [momentLine(report.moment)]),
    `Last event: ${report.lastEventAt}. ${lostLine(report)}`,
    provenLine(report),
    report.oldDirectory === undefined
      ? 'There was no old directory.'
      : `The old directory is kept as ${report.oldDirectory}; remove it when it is no longer needed.`,
    ...rewrittenLine(report),
    ...raisedLine(report),
    ...report.notes.map((note) => `Note: ${note}.`),
    `Start it with${report.etcdVersion === undefined ? '' : ` etcd ${report.etcdVersion}`}, and the flags for clients and TLS that it had:`,
    `  ${report.command}`,
    `No member of the old cluster may join it: ${others}.`,
    `Took ${(report.elapsedMs / 1000).toFixed(1)} s${report.childPeakBytes === undefined ? '' : `; the replaying etcd used up to ${formatBytes(report.childPeakBytes)}`}.`,
  ];
}

function lostLine({ lostUpTo, revision, toRevision, moment }: RestoreReport): string {
  const aimed = toRevision !== undefined || moment !== undefined;
  if (lostUpTo !== undefined && aimed)
    return `LOST: revisions ${revision + 1n}-${lostUpTo} of what was asked for. What was written after them is left out.`;
  if (aimed) return 'What was written after it is left out, as asked.';
  if (lostUpTo !== undefined)
    return `LOST: revisions ${revision + 1n}-${lostUpTo}, and what was written after them and is in no backup.`;
  return 'What was written after it is in no backup.';
}

/** A compaction leaves nothing to hold against the deltas: each was checked whole when it was read. */
function provenLine(report: RestoreReport): string {
  const { rewritten, provenRecords } = report;
  const records =
    rewritten?.kind === 'compact'
      ? `all ${rewritten.records} records as the compaction left them, ${report.keys} keys alive`
      : `revisions consecutive, ${provenRecords} records equal to the deltas`;
  return `Proven: ${records}, structure checked${hashLine(report)}.`;
}

function rewrittenLine({ rewritten, revision }: RestoreReport): string[] {
  if (rewritten === undefined) return [];
  const { kind, why, records, bytes } = rewritten;
  const done = kind === 'pack' ? 'Packed' : `Compacted at revision ${revision}`;
  return [`${done} (${why}): ${records} records, ${formatBytes(bytes)}.`];
}

function raisedLine({ revision, raisedRevision }: RestoreReport): string[] {
  if (raisedRevision === undefined) return [];
  return [
    `Raised to revision ${raisedRevision}: etcd counts on from there and answers all below as compacted. Above ${revision} it holds no events.`,
  ];
}

/** Marks that an older etcd refuses to start on. */
function etcdVersionOf(
  { etcdVersion }: Pick<RestoreRequest, 'etcdVersion'>,
  { storageVersion, clusterVersion }: Pick<DbInfo, 'storageVersion' | 'clusterVersion'>,
): string | undefined {
  if (etcdVersion !== undefined) return etcdVersion;
  const newest = newestVersion([storageVersion, clusterVersion]);
  return newest === undefined ? undefined : `${minorOf(newest)} or newer`;
}

function hashLine({ provenHashes }: RestoreReport): string {
  return provenHashes.length === 0 ? '' : `, HashKV equal at revision ${provenHashes.join(', ')}`;
}

function lastEventAt({ applied, base }: RestoreResult): string {
  if (applied.lastEventMs !== undefined) return new Date(applied.lastEventMs).toISOString();
  const { manifest, name } = base.object;
  return manifest?.endedAtMs === undefined
    ? time(name.createdSecs)
    : new Date(manifest.endedAtMs).toISOString();
}

/** What the watch does not carry, and what the base brings along (hazards 5, 39, 40). */
function notesOf(
  { unknownLeaseTtlSeconds: ttl }: RestoreRequest,
  { base, proof, plan, unknownLeases }: RestoreResult,
): string[] {
  const notes: string[] = [];
  const { leases, keys } = unknownLeases;
  if (keys > 0)
    notes.push(
      `${keys} keys refer to ${leases} leases whose time to live is in no backup; ${
        ttl === undefined ? 'those keys do not expire' : `they were granted ${ttl} s`
      }`,
    );
  if (proof.info.authEnabled) {
    const since =
      plan.deltas.length === 0
        ? ''
        : `; changes of users and roles after revision ${base.info.revision} are not in deltas`;
    notes.push(`authentication is on, as in the full${since}`);
  }
  const alarms = [...new Set(base.info.alarms)].join(', ');
  if (proof.info.alarms.length > 0) {
    notes.push(
      `alarm ${alarms} is set, as in the full: etcd refuses writes until \`etcdctl alarm disarm\`, or restore with --clear-alarms`,
    );
  } else if (alarms !== '') {
    notes.push(`alarm ${alarms} was set in the full and is cleared`);
  }
  return notes;
}
