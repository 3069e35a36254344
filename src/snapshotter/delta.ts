/** One delta on its way into the store: finished with its leases, perhaps exported, published under its name. */
import { rm } from 'node:fs/promises';
import type { BackupConfig } from '../config/backup.js';
import {
  type DeltaHeader,
  type DeltaSummary,
  deltaLastEvent,
  exportDelta,
  verifyDelta,
} from '../native/index.js';
import type { Manifest } from '../snapshot/manifest.js';
import { formatName, type NameParts } from '../snapshot/name.js';
import type { Store } from '../store/store.js';
import type { CutDelta } from './capture.js';
import type { Observer } from './events.js';
import type { ChainEnd } from './full.js';
import { recordOfDelta } from './history.js';
import type { LeaseBook } from './leases.js';
import { publish } from './publish.js';
import { exportPath } from './spool.js';

/** How long the leases of one delta may be asked for once it is cut. */
const LEASE_TIMEOUT_MS = 10_000;

type DeltaConfig = Pick<BackupConfig, 'deltaFormat' | 'jsonCodec'>;

/** Whole, on disk, and waiting for the store. */
export interface SealedDelta {
  readonly path: string;
  readonly summary: DeltaSummary;
  readonly cutAtMs: number;
  /** What the chain will end with once it is stored. */
  readonly end: ChainEnd;
}

/** Which etcd the events come from. */
export interface DeltaOrigin {
  readonly serverVersion: string;
  readonly clusterId: bigint;
  readonly memberId: bigint;
}

export interface SealOptions {
  readonly leases: LeaseBook;
  readonly config: DeltaConfig;
  readonly observe: Observer;
}

export async function seal(
  { writer, cutAtMs }: Pick<CutDelta, 'writer' | 'cutAtMs'>,
  { leases, config, observe }: SealOptions,
): Promise<SealedDelta> {
  const { grants, unknown } = await leases.grants(writer.leases(), LEASE_TIMEOUT_MS);
  if (unknown > 0) {
    const text = `etcd did not say how long ${unknown} leases last that a delta names`;
    observe({
      kind: 'warning',
      text,
      hint: 'keys of these leases will not expire after a restore from this delta',
    });
  }
  return sealed(writer.path, await writer.finish(grants), cutAtMs, config);
}

/** Of a finished file. */
export async function sealed(
  path: string,
  summary: DeltaSummary,
  cutAtMs: number,
  config: DeltaConfig,
): Promise<SealedDelta> {
  const record = recordOfDelta(await deltaLastEvent(path, path));
  const name = deltaName({ ...summary, cutAtMs }, config);
  return { path, summary, cutAtMs, end: { name, revision: summary.lastRevision, record } };
}

export interface PublishDeltaOptions {
  readonly store: Store;
  readonly config: DeltaConfig;
  /** What it continues. */
  readonly previous: ChainEnd;
  readonly restoredFrom: Manifest['restoredFrom'];
  readonly observe: Observer;
  readonly signal?: AbortSignal | undefined;
}

/** The local file stays; the caller removes it once it has noted that the object is stored. */
export async function publishDelta(delta: SealedDelta, options: PublishDeltaOptions): Promise<ChainEnd> {
  const { summary, cutAtMs, end } = delta;
  const { firstRevision, lastRevision, events, lastTimeMs } = summary;
  const { name: previousName, sha256: previousSha256 } = options.previous;
  const file = await exported(delta, options);
  const { bytes, sha256 } = file;
  try {
    const { header } = await verifyDelta(delta.path, delta.path, { signal: options.signal });
    const name = nameParts(summary, cutAtMs, options.config);
    const manifest = {
      revision: lastRevision,
      ...originOf(header),
      openedAtMs: summary.firstTimeMs,
      endedAtMs: lastTimeMs,
      events,
      lastRecord: end.record,
      restoredFrom: options.restoredFrom,
      previous: { name: previousName, sha256: previousSha256 },
    };
    const stored = await publish(options.store, { name, ...file, manifest }, { signal: options.signal });
    const told = { name: stored, firstRevision, lastRevision, events, bytes, lastEventMs: lastTimeMs };
    options.observe({ kind: 'delta-stored', ...told });
    return { ...end, name: stored, sha256 };
  } finally {
    if (file.path !== delta.path) await rm(file.path, { force: true });
  }
}

type Range = Pick<DeltaSummary, 'firstRevision' | 'lastRevision'>;

/** As published, unless another writer took the name in the same second. */
export function deltaName(cut: Range & Pick<CutDelta, 'cutAtMs'>, config: DeltaConfig): string {
  return formatName(nameParts(cut, cut.cutAtMs, config));
}

function nameParts(
  { firstRevision: start, lastRevision: last }: Range,
  cutAtMs: number,
  config: DeltaConfig,
): NameParts {
  const codec = config.deltaFormat === 'ebd' ? 'ebd' : config.jsonCodec;
  return { kind: 'delta', start, last, createdSecs: Math.floor(cutAtMs / 1000), codec };
}

/** What the writer knew of its etcd; it gave 0 where it did not. */
function originOf(header: DeltaHeader | null | undefined): Partial<DeltaOrigin> {
  if (header == null) return {};
  const { serverVersion, clusterId, memberId } = header;
  return {
    ...(serverVersion === '' ? {} : { serverVersion }),
    ...(clusterId === 0n ? {} : { clusterId }),
    ...(memberId === 0n ? {} : { memberId }),
  };
}

interface DeltaFileOnDisk {
  readonly path: string;
  readonly bytes: number;
  readonly sha256: string;
}

async function exported(
  { path, summary }: SealedDelta,
  { config, signal }: PublishDeltaOptions,
): Promise<DeltaFileOnDisk> {
  if (config.deltaFormat === 'ebd') return { path, bytes: summary.bytes, sha256: summary.sha256 };
  const target = exportPath(path);
  await rm(target, { force: true });
  const request = { source: path, target, compression: config.jsonCodec } as const;
  const { bytes, sha256 } = await exportDelta(path, request, { signal });
  return { path: target, bytes, sha256 };
}
