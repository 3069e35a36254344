/** What is merged, and how it is written. The Go tool's flags for the etcd that it starts are taken and have no use. */
import {
  type CompressionConfig,
  compressionFlags,
  type ProgramName,
  parseCompressionConfig,
} from './compression.js';
import { bool, duration, type Flag, type Given, integer, parseFlags, text } from './flag.js';
import { restoreFlags } from './restore.js';

const { base, exclude, timeline, skipHashCheck, maxFetchers, maxInflightBytes, dryRun, ...ofAnEtcd } =
  restoreFlags;

const NO_ETCD = 'an etcd that compacts';

export const compactFlags = {
  ...{ dryRun, base: { ...base, help: 'merge from this full' } },
  ...{ exclude, timeline, skipHashCheck },
  keepHistory: bool('keep-history', false, 'merge only: keep every revision that base and deltas hold'),
  minDeltaBytes: integer('min-delta-bytes', 0, 'do nothing while the deltas have less; 0 for always', {
    min: 0,
  }),
  minRestoreMs: duration('min-restore-time', 0, 'do nothing while a restore would take less; 0 for always', {
    min: 0,
  }),
  ...compressionFlags,
  ...{ maxFetchers, maxInflightBytes },
  ...withoutUse(ofAnEtcd),
  defragment: bool('defragment', true, 'what is written has no free pages either way', { later: NO_ETCD }),
  snapshotTimeoutMs: duration('etcd-snapshot-timeout', 1_800_000, '', { min: 0, later: NO_ETCD }),
  defragTimeoutMs: duration('etcd-defrag-timeout', 480_000, '', { min: 0, later: NO_ETCD }),
  fullLease: text('full-snapshot-lease-name', 'full-snapshot-revisions', '', { later: 'lease renewal' }),
  deltaLease: text('delta-snapshot-lease-name', 'delta-snapshot-revisions', '', { later: 'lease renewal' }),
  renewLeases: bool('enable-snapshot-lease-renewal', false, '', { later: 'lease renewal' }),
  scrapeWaitMs: duration('metrics-scrape-wait-duration', 0, '', { min: 0, later: 'a metrics endpoint here' }),
} as const;

export interface CompactConfig {
  readonly dryRun: boolean;
  readonly base: string | undefined;
  readonly exclude: readonly string[];
  readonly timeline: 'newest' | 'highest' | undefined;
  readonly skipHashCheck: boolean;
  /** Nothing is compacted, only merged. */
  readonly keepHistory: boolean;
  /** Below both there is nothing to do; undefined: not asked. */
  readonly minDeltaBytes: number | undefined;
  readonly minRestoreMs: number | undefined;
  readonly maxFetchers: number;
  readonly maxInflightBytes: number;
  readonly compression: CompressionConfig;
}

export function parseCompactConfig(given: Given, program: ProgramName): CompactConfig {
  const values = parseFlags(compactFlags, given);
  return Object.freeze({
    dryRun: values.dryRun,
    base: values.base || undefined,
    exclude: values.exclude,
    timeline: values.timeline || undefined,
    skipHashCheck: values.skipHashCheck,
    keepHistory: values.keepHistory,
    minDeltaBytes: values.minDeltaBytes || undefined,
    minRestoreMs: values.minRestoreMs || undefined,
    maxFetchers: values.maxFetchers,
    maxInflightBytes: values.maxInflightBytes,
    compression: parseCompressionConfig(given, program),
  });
}

/** So that a command line of the Go tool's is taken, and each flag of no use is told once. */
function withoutUse<F extends Readonly<Record<string, Flag<unknown>>>>(flags: F): F {
  const entries = Object.entries(flags).map(([key, flag]) => [key, { ...flag, later: NO_ETCD }]);
  return Object.fromEntries(entries) as F;
}
