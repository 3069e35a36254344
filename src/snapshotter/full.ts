/**
 * One full snapshot: streamed to local disk and packed while it arrives, proven whole and sound, and only then
 * published. What the object is called and says of itself is read from the database itself (hazard 1), never from
 * an earlier request.
 */
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { withTimeout } from '../base/watchdog.js';
import { BackupError } from '../errors.js';
import type { EtcdClient } from '../etcd/client.js';
import type { EndpointStatus } from '../etcd/endpoint.js';
import { type SnapshotStream, streamSnapshot } from '../etcd/snapshot-stream.js';
import {
  checkDb,
  type DbInfo,
  hashKv,
  inspectDb,
  recordAt,
  SnapshotSink,
  type TakenSnapshot,
  type WriteCodec,
} from '../native/index.js';
import type { LastRecord, Manifest } from '../snapshot/manifest.js';
import type { Store } from '../store/store.js';
import type { Observer } from './events.js';
import { recordOfDb } from './history.js';
import { OwnedDir } from './owned-dir.js';
import type { Persistence } from './persist.js';
import { type Publication, publish } from './publish.js';

export interface FullOptions {
  readonly client: EtcdClient;
  readonly store: Store;
  readonly tempDir: string;
  readonly codec: WriteCodec;
  /** Of the whole stream; 0 for none, which is right for most: only standstill ends it. */
  readonly streamTimeoutMs: number;
  readonly restoredFrom: Manifest['restoredFrom'];
  /** Where the store's chain ends: the full says whether it is of the same history. */
  readonly before: ChainEnd | undefined;
  /** For the upload alone: what was streamed out of etcd is not asked of it again because the store is down. */
  readonly upload: Persistence;
  readonly observe: Observer;
  readonly signal?: AbortSignal | undefined;
}

/** The last object of a chain. */
export interface ChainEnd {
  readonly name: string;
  readonly sha256?: string | undefined;
  readonly revision: bigint;
  readonly record: LastRecord | undefined;
}

export interface TakenFull extends ChainEnd {
  readonly createdSecs: number;
}

/** Below the temp directory, one for each full that is being taken. */
export const FULL_DIR_PREFIX = 'etcdbr-full-';
export const NO_PROGRESS_TIMEOUT_MS = 60_000;
const CHECK_THREADS = 2;
const MAX_DESCRIBED_FINDINGS = 5;

export async function takeFull(options: FullOptions): Promise<TakenFull> {
  const startedMs = Date.now();
  const dir = await OwnedDir.acquire(
    join(options.tempDir, `${FULL_DIR_PREFIX}${process.pid}-${randomBytes(4).toString('hex')}`),
  );
  try {
    const status = await options.client.status({ signal: options.signal });
    const raw = dir.file('snapshot.db');
    const packed = dir.file('snapshot.packed');
    const { stream, taken } = await receive(raw, packed, options, status.dbSizeBytes);
    const content = await readContent(raw, stream, options);
    const manifest = {
      ...describe(status, stream, taken, content.info),
      ...content.hash,
      ...content.origin,
      restoredFrom: options.restoredFrom,
      endedAtMs: Date.now(),
    };
    return await store(packed, stream, taken, manifest, options, startedMs);
  } finally {
    await dir.remove();
  }
}

async function receive(
  raw: string,
  packed: string,
  options: FullOptions,
  expectedBytes: number,
): Promise<{ stream: SnapshotStream; taken: TakenSnapshot }> {
  const { client, observe, streamTimeoutMs } = options;
  const sink = new SnapshotSink(raw, packed, options.codec);
  try {
    const stream = await limited(streamTimeoutMs, options.signal, (signal) =>
      streamSnapshot(client.connection, sink, {
        noProgressTimeoutMs: NO_PROGRESS_TIMEOUT_MS,
        signal,
        onProgress: (done) =>
          observe({ kind: 'full-progress', stage: 'stream', done, total: Math.max(done, expectedBytes) }),
      }),
    );
    return { stream, taken: await sink.finish({ signal: options.signal }) };
  } catch (error) {
    await sink.abort();
    throw error;
  }
}

async function limited<T>(
  ms: number,
  signal: AbortSignal | undefined,
  job: (signal: AbortSignal | undefined) => Promise<T>,
): Promise<T> {
  if (ms === 0) return job(signal);
  const hint = 'give a longer --etcd-snapshot-timeout, or 0 for none';
  const reason = () => new BackupError('TIMEOUT', `not done after ${ms / 1000} s`, { op: 'snapshot', hint });
  return withTimeout({ ms, reason, signal }, job);
}

/** Side by side, since each reads the whole file. Damage is told before what could not be read because of it. */
async function readContent(raw: string, stream: SnapshotStream, options: FullOptions) {
  const read = async () => {
    const info = await inspectDb(raw, { signal: options.signal });
    return {
      info,
      origin: await compareWithChain(raw, info, options),
      hash: await digest(raw, info, options),
    };
  };
  const [sound, content] = await Promise.allSettled([checkSound(raw, stream, options), read()]);
  if (sound.status === 'rejected') throw sound.reason;
  if (content.status === 'rejected') throw content.reason;
  return content.value;
}

/** A stream can be whole and yet hold a damaged database: what etcd itself serves from (hazard 21). */
async function checkSound(raw: string, stream: SnapshotStream, options: FullOptions): Promise<void> {
  const onProgress = (done: number) => options.observe({ kind: 'full-progress', stage: 'check', done });
  const checks = { threads: CHECK_THREADS, maxFindings: MAX_DESCRIBED_FINDINGS };
  const check = await checkDb(raw, checks, { signal: options.signal, onProgress });
  if (check.findingsTotal === 0) return;
  const described = check.findings.map(({ place, detail }) => `${place}: ${detail}`).join('; ');
  throw new BackupError('CORRUPT', `its database is damaged, ${check.findingsTotal} findings: ${described}`, {
    op: 'snapshot',
    object: stream.endpoint,
    hint: 'nothing was published; check the disk of this member and replace it from a healthy one',
  });
}

/**
 * Every revision above the compact one is in the file, so there a missing record is another history, not an old one.
 */
async function compareWithChain(
  raw: string,
  info: DbInfo,
  { before, signal }: FullOptions,
): Promise<Pick<Manifest, 'previous' | 'divergedFrom'>> {
  if (before?.record === undefined) return {};
  const { record, name, sha256 } = before;
  const found = await recordAt(raw, record.modRevision, { signal });
  if (found === null) return record.modRevision > info.compactRevision ? { divergedFrom: name } : {};
  const equal = found.sha256 === record.sha256 && found.key.toString('base64') === record.keyBase64;
  if (equal) return { previous: { name, sha256 } };
  // A transaction's last record can be compacted away and an earlier one of it stay.
  return record.modRevision > info.compactRevision ? { divergedFrom: name } : {};
}

function describe(status: EndpointStatus, stream: SnapshotStream, taken: TakenSnapshot, info: DbInfo) {
  const { lastRecord } = info;
  return {
    revision: info.revision,
    compactRevision: info.compactRevision,
    plain: { bytes: taken.plainBytes, sha256: taken.dbSha256 },
    serverVersion: status.version,
    clusterId: status.clusterId,
    memberId: status.endpoint === stream.endpoint ? status.memberId : undefined,
    openedAtMs: stream.openedMs,
    lastRecord: lastRecord ? recordOfDb(lastRecord) : undefined,
  };
}

async function digest(raw: string, info: DbInfo, { signal }: FullOptions): Promise<Pick<Manifest, 'hashKv'>> {
  const { revision, compactRevision } = info;
  const answer = await hashKv(raw, { revision, compactRevision }, { signal });
  if (!answer.comparable) return {};
  return { hashKv: { hash: answer.hash, revision, compactRevision: answer.compactRevision } };
}

async function store(
  packed: string,
  stream: SnapshotStream,
  taken: TakenSnapshot,
  manifest: Publication['manifest'],
  options: FullOptions,
  startedMs: number,
): Promise<TakenFull> {
  const { observe, signal, codec } = options;
  const { packedBytes: bytes, packedSha256: sha256, plainBytes } = taken;
  const { revision } = manifest;
  const createdSecs = Math.floor(stream.openedMs / 1000);
  const publication = {
    name: { kind: 'full', start: 0n, last: revision, createdSecs, codec },
    path: packed,
    bytes,
    sha256,
    manifest,
  } as const;
  const onProgress = (done: number) =>
    observe({ kind: 'full-progress', stage: 'upload', done, total: bytes });
  const name = await options.upload(
    () => publish(options.store, publication, { signal, onProgress }),
    signal,
  );
  observe({ kind: 'full-stored', name, revision, plainBytes, bytes, tookMs: Date.now() - startedMs });
  return { name, sha256, revision, record: manifest.lastRecord, createdSecs };
}
