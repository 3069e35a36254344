/** How backups are taken. */
import { BackupError } from '../errors.js';
import {
  type CompressionConfig,
  compressionFlags,
  type ProgramName,
  parseCompressionConfig,
} from './compression.js';
import { choice, duration, type Given, integer, parseFlags, text } from './flag.js';

export type { ProgramName } from './compression.js';

const DEFAULT_DELTA_PERIOD_MS = 20_000;
const DEFAULT_DELTA_BYTES = 10 * 1024 * 1024;
const DEFAULT_DELTA_EVENTS = 1_000_000;
/** Catching up by watch costs etcd the square of the distance (hazard 43). */
const DEFAULT_CATCH_UP_REVISIONS = 50_000;
const DEFAULT_SPOOL_BYTES = 4 * 1024 * 1024 * 1024;

const SCHEDULES = 'scheduled fulls come with the sidecar';
const RETENTION = 'retention comes with the sidecar';

export const backupFlags = {
  once: choice('once', ['', 'full', 'delta'], '', 'take one full or one delta, then exit'),
  ...compressionFlags,
  deltaFormat: choice('delta-format', ['', 'ebd', 'json'], '', 'json is what the Go tool reads'),
  deltaPeriodMs: duration(
    'delta-snapshot-period',
    DEFAULT_DELTA_PERIOD_MS,
    'time between deltas; below 1s there are none',
    { min: 0 },
  ),
  deltaBytes: integer(
    'delta-snapshot-memory-limit',
    DEFAULT_DELTA_BYTES,
    'bytes of events at which a delta is cut',
    { min: 0 },
  ),
  deltaEvents: integer('delta-snapshot-event-limit', DEFAULT_DELTA_EVENTS, 'events at which a delta is cut', {
    min: 1,
  }),
  maxCatchUpRevisions: integer(
    'max-catch-up-revisions',
    DEFAULT_CATCH_UP_REVISIONS,
    'distance up to which a restart continues with deltas instead of a full',
    { min: 0 },
  ),
  spoolDir: text(
    'spool-directory',
    '',
    'where events wait for their upload (default: below the temp directory)',
  ),
  spoolBytes: integer('spool-max-bytes', DEFAULT_SPOOL_BYTES, 'bytes that may wait; then the watch pauses', {
    min: 1024 * 1024,
  }),
  dataDir: text('data-dir', '', "etcd's data directory, to learn that it was restored", { short: 'd' }),
  schedule: text('schedule', '0 */1 * * *', 'cron schedule of fulls', { short: 's', later: SCHEDULES }),
  defragSchedule: text('defragmentation-schedule', '0 0 */3 * *', 'cron schedule of defragmentation', {
    later: SCHEDULES,
  }),
  gcPeriodMs: duration('garbage-collection-period', 60_000, 'time between retention runs', {
    min: 0,
    later: RETENTION,
  }),
  gcPolicy: choice(
    'garbage-collection-policy',
    ['Exponential', 'LimitBased'],
    'Exponential',
    'which fulls are kept',
    { later: RETENTION },
  ),
  maxBackups: integer('max-backups', 7, 'fulls kept by LimitBased', { min: 1, short: 'm', later: RETENTION }),
  deltaRetentionMs: duration('delta-snapshot-retention-period', 0, 'how long deltas of older sets are kept', {
    min: 0,
    later: RETENTION,
  }),
  backoffMultiplier: integer('backoff-multiplier', 2, 'growth of waits between tries', {
    min: 1,
    later: 'the adjustable backoff',
  }),
  backoffAttempts: integer('backoff-attempt-limit', 6, 'growing waits', {
    min: 1,
    later: 'the adjustable backoff',
  }),
  backoffThresholdMs: duration('backoff-threshold-time', 128_000, 'longest wait', {
    min: 1_000,
    later: 'the adjustable backoff',
  }),
} as const;

export interface BackupConfig extends Omit<CompressionConfig, 'chosen'> {
  readonly once: 'full' | 'delta' | undefined;
  readonly deltaFormat: 'ebd' | 'json';
  /** 0: deltas are off. */
  readonly deltaPeriodMs: number;
  readonly deltaBytes: number;
  readonly deltaEvents: number;
  readonly maxCatchUpRevisions: number;
  readonly spoolDir: string | undefined;
  readonly spoolBytes: number;
  readonly dataDir: string | undefined;
}

const MIN_DELTA_PERIOD_MS = 1_000;

export function parseBackupConfig(given: Given, program: ProgramName): BackupConfig {
  const values = parseFlags(backupFlags, given);
  const { gardener, fullCodec, jsonCodec } = parseCompressionConfig(given, program);
  const deltaFormat = values.deltaFormat || (gardener ? 'json' : 'ebd');
  if (gardener && deltaFormat === 'ebd')
    refuse('--delta-format', 'ebd cannot be restored by the Go tool', '--compat none');
  const deltaPeriodMs = values.deltaPeriodMs < MIN_DELTA_PERIOD_MS ? 0 : values.deltaPeriodMs;
  if (values.once === 'delta' && deltaPeriodMs === 0)
    refuse('--once', 'deltas are off', '--delta-snapshot-period of 1s or more');
  return Object.freeze({
    once: values.once || undefined,
    gardener,
    fullCodec,
    deltaFormat,
    jsonCodec,
    deltaPeriodMs,
    deltaBytes: values.deltaBytes || DEFAULT_DELTA_BYTES,
    deltaEvents: values.deltaEvents,
    maxCatchUpRevisions: values.maxCatchUpRevisions,
    spoolDir: values.spoolDir || undefined,
    spoolBytes: values.spoolBytes,
    dataDir: values.dataDir || undefined,
  });
}

function refuse(flag: string, why: string, hint: string): never {
  throw new BackupError('USAGE', why, { object: flag, hint: `give another value, or ${hint}` });
}
