/** What is restored, to where, and as which member. */
import { resolve } from 'node:path';
import { BackupError } from '../errors.js';
import { bool, choice, type Given, integer, parseFlags, repeated, revision, text, time } from './flag.js';

const DEFAULT_INFLIGHT_BYTES = 64 * 1024 * 1024;
const REPLAY_LIMITS = 'limits are derived from the data, so this';

export const restoreFlags = {
  dataDir: text('data-dir', 'default.etcd', 'directory to restore into', { short: 'd' }),
  name: text('name', 'default', 'name of this member'),
  initialCluster: text(
    'initial-cluster',
    'default=http://localhost:2380',
    'members of the restored cluster: name=peerURL,…; each is restored from the same backup, with its own name',
  ),
  initialClusterToken: text('initial-cluster-token', 'etcd-cluster', 'token of the restored cluster'),
  advertisePeerUrls: repeated(
    'initial-advertise-peer-urls',
    ['http://localhost:2380'],
    'peer URLs of this member',
  ),
  dryRun: bool('dry-run', false, 'show the plan and change nothing'),
  base: text('base', '', 'restore from this full'),
  exclude: repeated('exclude', [], 'leave this object out; may be given several times'),
  allowOlder: bool('allow-older', false, 'when the newest state cannot be had, restore the newest that can'),
  timeline: choice('timeline', ['', 'newest', 'highest'], '', 'which branch of a forked history'),
  replaceNewer: bool('replace-newer', false, 'replace a data directory that is newer than the backup'),
  toRevision: revision('to-revision', 'restore to exactly this revision; it may lie inside a delta'),
  toTimeMs: time(
    'to-time',
    'restore to the last revision at or before this time, such as 2026-11-30T03:12:00Z; exact where a delta covers it',
  ),
  applier: choice(
    'applier',
    ['native', 'embedded'],
    'native',
    'native appends the deltas to the full itself; embedded replays them through an etcd, which --etcd-binary names',
  ),
  pack: bool('pack', false, 'write the database anew and packed instead of appending to the full'),
  compact: bool('compact', false, 'keep only what a compaction at the restored revision would keep'),
  unknownLeaseTtlSeconds: integer(
    'unknown-lease-ttl',
    0,
    'seconds to live for leases that keys refer to and that no backup describes; 0 keeps the bare id',
    { min: 0, max: 9_000_000_000 },
  ),
  bumpRevision: integer(
    'bump-revision',
    0,
    'raise the revision by so many, above what clients have seen; the same for every member',
    {
      min: 0,
    },
  ),
  markCompacted: bool('mark-compacted', false, 'cancel watches below the raised revision as compacted'),
  clearAlarms: bool('clear-alarms', false, 'start without the alarms that the full holds'),
  etcdVersion: text(
    'etcd-version',
    '',
    'etcd that will start on the result (3.4, 3.5, 3.6 or 3.7), when it is older than the one that was backed up',
  ),
  skipHashCheck: bool(
    'skip-hash-check',
    false,
    'accept a full that lacks its SHA-256 (copied from a data directory)',
  ),
  etcdBinary: text(
    'etcd-binary',
    '',
    'etcd that replays the deltas with --applier embedded (default: etcd in PATH)',
  ),
  maxFetchers: integer('max-fetchers', 6, 'objects fetched ahead', { min: 1, max: 64 }),
  maxInflightBytes: integer('max-inflight-bytes', DEFAULT_INFLIGHT_BYTES, 'bytes of objects fetched ahead', {
    min: 1024 * 1024,
  }),
  tempDir: text('restoration-temp-snapshots-dir', '', 'the Go tool fetches into this directory', {
    later: 'fetching elsewhere than beside the data directory',
  }),
  maxRequestBytes: integer('max-request-bytes', 10_485_760, 'request limit of the replaying etcd', {
    min: 1,
    later: REPLAY_LIMITS,
  }),
  maxTxnOps: integer('max-txn-ops', 10_240, 'transaction limit of the replaying etcd', {
    min: 1,
    later: REPLAY_LIMITS,
  }),
  maxCallSendBytes: integer('max-call-send-message-size', 10_485_760, 'message limit', {
    min: 1,
    later: REPLAY_LIMITS,
  }),
  quotaBytes: integer(
    'embedded-etcd-quota-bytes',
    8_589_934_592,
    "etcd's quota: a larger result is refused when this is given, and warned about otherwise",
    { min: 1 },
  ),
  compactionMode: choice(
    'auto-compaction-mode',
    ['periodic', 'revision'],
    'periodic',
    'compaction while replaying',
    { later: 'compaction while replaying' },
  ),
  compactionRetention: text('auto-compaction-retention', '30m', 'compaction while replaying', {
    later: 'compaction while replaying',
  }),
} as const;

export interface RestoreConfig {
  /** Absolute. */
  readonly dataDir: string;
  readonly name: string;
  readonly initialCluster: string;
  readonly initialClusterToken: string;
  readonly advertisePeerUrls: readonly string[];
  readonly dryRun: boolean;
  readonly base: string | undefined;
  readonly exclude: readonly string[];
  readonly allowOlder: boolean;
  readonly timeline: 'newest' | 'highest' | undefined;
  readonly replaceNewer: boolean;
  readonly toRevision: bigint | undefined;
  readonly toTimeMs: number | undefined;
  readonly applier: 'native' | 'embedded';
  readonly pack: boolean;
  readonly compact: boolean;
  /** That etcd will run with, when it was given: a larger result is refused. */
  readonly quotaBytes: number | undefined;
  /** Of leases that no backup describes; undefined keeps the bare id. */
  readonly unknownLeaseTtlSeconds: number | undefined;
  /** Above the restored revision; undefined without. Older watches are then cancelled as compacted. */
  readonly bumpRevision: number | undefined;
  readonly clearAlarms: boolean;
  /** Such as 3.6, of the etcd that will start on the result; undefined is the one that was backed up or a newer one. */
  readonly etcdVersion: string | undefined;
  readonly skipHashCheck: boolean;
  readonly etcdBinary: string | undefined;
  readonly maxFetchers: number;
  readonly maxInflightBytes: number;
}

export function parseRestoreConfig(given: Given): RestoreConfig {
  const values = parseFlags(restoreFlags, given);
  if (values.dataDir === '') throw new BackupError('USAGE', 'is empty', { object: '--data-dir' });
  if (values.dataDir.startsWith('~')) {
    const hint = 'write the path out, or leave it to the shell by not quoting it';
    throw new BackupError('USAGE', `${values.dataDir}: ~ is not expanded here`, {
      object: '--data-dir',
      hint,
    });
  }
  const { toRevision, toTimeMs, bumpRevision, markCompacted, base, timeline, etcdBinary } = values;
  const { etcdVersion } = values;
  if (toRevision !== undefined && toTimeMs !== undefined)
    throw new BackupError('USAGE', 'only one of the two can be the target', {
      object: '--to-revision, --to-time',
    });
  if (bumpRevision > 0 !== markCompacted)
    throw new BackupError('USAGE', 'go together: a raised revision without the mark misleads old watches', {
      object: '--bump-revision, --mark-compacted',
    });
  return Object.freeze({
    ...pick(values),
    dataDir: resolve(values.dataDir),
    toRevision,
    toTimeMs,
    unknownLeaseTtlSeconds: values.unknownLeaseTtlSeconds || undefined,
    bumpRevision: bumpRevision || undefined,
    etcdVersion: etcdVersion === '' ? undefined : parseEtcdVersion(etcdVersion),
    quotaBytes: given.has(restoreFlags.quotaBytes.name) ? values.quotaBytes : undefined,
    base: base || undefined,
    timeline: timeline || undefined,
    etcdBinary: etcdBinary || undefined,
  });
}

function parseEtcdVersion(typed: string): string {
  const minor = /^v?(3\.[4-7])(\.\d+)?$/.exec(typed)?.[1];
  if (minor !== undefined) return minor;
  throw new BackupError('USAGE', `${JSON.stringify(typed)}: expected 3.4, 3.5, 3.6 or 3.7`, {
    object: '--etcd-version',
  });
}

type Kept = Pick<
  RestoreConfig,
  | 'name'
  | 'initialCluster'
  | 'initialClusterToken'
  | 'advertisePeerUrls'
  | 'dryRun'
  | 'exclude'
  | 'allowOlder'
  | 'replaceNewer'
  | 'applier'
  | 'pack'
  | 'compact'
  | 'clearAlarms'
  | 'skipHashCheck'
  | 'maxFetchers'
  | 'maxInflightBytes'
>;

function pick(values: Kept): Kept {
  const { name, initialCluster, initialClusterToken, advertisePeerUrls } = values;
  const { dryRun, exclude, allowOlder, replaceNewer, skipHashCheck } = values;
  const { applier, pack, compact, clearAlarms, maxFetchers, maxInflightBytes } = values;
  return {
    ...{ name, initialCluster, initialClusterToken, advertisePeerUrls },
    ...{ dryRun, exclude, allowOlder, replaceNewer, skipHashCheck },
    ...{ applier, pack, compact, clearAlarms, maxFetchers, maxInflightBytes },
  };
}
