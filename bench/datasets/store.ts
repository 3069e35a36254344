/**
 * A store with one full and deltas:
 *
 *   set-MIB-EVENTS/snapshot.db       the plain snapshot with its trailer, as `etcdctl snapshot save` writes it
 *                 /ours/v2/…         .zst, .ebd and manifests
 *                 /base/v2/…         the full alone
 *                 /facts.json
 *   set-MIB-EVENTS-gardener/store/v2/…   the same in the Go tool's formats: .gz, JSON, no manifests
 */
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { link, mkdir, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { exportDelta, inspectDb, SnapshotSink } from '../../src/native/index.js';
import { formatManifest, type Manifest } from '../../src/snapshot/manifest.js';
import { formatName } from '../../src/snapshot/name.js';
import type { StoreSet } from '../engines/engine.js';
import { cached } from './cache.js';
import { writeDeltas } from './deltas.js';
import { dbOf, makePacked } from './member.js';
import { field, varintField } from './protobuf.js';

export interface BackupSet {
  readonly snapshot: string;
  readonly snapshotBytes: number;
  /** The full, packed as it lies in the store. */
  readonly packedFull: string;
  readonly ours: StoreSet;
  readonly base: StoreSet;
  readonly baseRevision: number;
  readonly revision: number;
  /** What it is, for the report. */
  readonly text: string;
}

export interface GardenerSet {
  readonly store: StoreSet;
  readonly packedFull: string;
}

const DELTA_SEED = 2;
const CREATED_SECS = 1_700_000_000;
/** What etcd sends at a time. */
const BLOB_BYTES = 32 * 1024;
const TRAILER_BYTES = 32;

export async function backupSet(mib: number, events: number): Promise<BackupSet> {
  const dir = await cached(`set-${mib}-${events}`, (building) => makeOurs(building, mib, events));
  const { baseRevision } = JSON.parse(await readFile(join(dir, 'facts.json'), 'utf8')) as BackupSet;
  const snapshot = join(dir, 'snapshot.db');
  const revision = baseRevision + events;
  const grown = `${events} events of 300 bytes above it up to ${revision} (seed ${DELTA_SEED})`;
  return {
    snapshot,
    snapshotBytes: (await stat(snapshot)).size,
    packedFull: join(dir, 'ours', 'v2', fullName(baseRevision, 'zstd')),
    ours: { container: join(dir, 'ours'), gardener: false },
    base: { container: join(dir, 'base'), gardener: false },
    baseRevision,
    revision,
    text: `base of ${mib} MiB at revision ${baseRevision} (seed 1), ${grown}`,
  };
}

/** The same content as the Go tool writes it. */
export async function gardenerSet(mib: number, events: number): Promise<GardenerSet> {
  const ours = await backupSet(mib, events);
  const name = fullName(ours.baseRevision, 'gzip');
  const dir = await cached(`set-${mib}-${events}-gardener`, async (building) => {
    const to = join(building, 'store', 'v2');
    await mkdir(to, { recursive: true });
    await stream(ours.snapshot, new SnapshotSink(join(building, 'plain'), join(to, name), 'gzip'));
    await rm(join(building, 'plain'));
    const from = join(ours.ours.container, 'v2');
    for (const delta of (await readdir(from)).filter((each) => each.endsWith('.ebd'))) {
      const target = join(to, delta.replace(/\.ebd$/, '.gz'));
      await exportDelta(delta, { source: join(from, delta), target, compression: 'gzip' });
    }
  });
  const container = join(dir, 'store');
  return { store: { container, gardener: true }, packedFull: join(container, 'v2', name) };
}

async function makeOurs(dir: string, mib: number, events: number): Promise<void> {
  for (const store of ['ours', 'base']) await mkdir(join(dir, store, 'v2', 'manifest'), { recursive: true });
  const member = join(dir, 'member-made');
  await makePacked(mib, member);
  const baseRevision = Number((await inspectDb(dbOf(member))).revision);
  await makeFull(dir, dbOf(member), baseRevision);
  await rm(member, { recursive: true });
  const plan = { seed: DELTA_SEED, firstRevision: baseRevision + 1, events, createdSecs: CREATED_SECS };
  await writeDeltas(join(dir, 'ours', 'v2'), plan, async ({ name, summary }) => {
    const { bytes, sha256, lastRevision: revision } = summary;
    await writeManifest(dir, 'ours', { name, revision, bytes, sha256, events: summary.events });
  });
  await writeFile(join(dir, 'facts.json'), JSON.stringify({ baseRevision }));
}

async function makeFull(dir: string, db: string, revision: number): Promise<void> {
  const name = fullName(revision, 'zstd');
  const packed = join(dir, 'ours', 'v2', name);
  const taken = await stream(db, new SnapshotSink(join(dir, 'snapshot.db'), packed, 'zstd'));
  await link(packed, join(dir, 'base', 'v2', name));
  const manifest = {
    name,
    revision: BigInt(revision),
    bytes: taken.packedBytes,
    sha256: taken.packedSha256,
    plain: { bytes: taken.plainBytes, sha256: taken.dbSha256 },
  };
  for (const store of ['ours', 'base']) await writeManifest(dir, store, manifest);
}

/** Sends a database, or a snapshot that has its trailer already, as Maintenance.Snapshot does. */
async function stream(path: string, sink: SnapshotSink) {
  const digest = createHash('sha256');
  const { size } = await stat(path);
  const hasTrailer = size % 4096 === TRAILER_BYTES;
  let remaining = hasTrailer ? size : size + TRAILER_BYTES;
  const push = async (blob: Buffer) => {
    remaining -= blob.length;
    // SnapshotResponse: 2 remaining_bytes, 3 blob.
    const message = Buffer.concat([varintField(2, remaining), field(3, blob)]);
    if (sink.push(message) === 'pause') await sink.drained();
  };
  for await (const chunk of createReadStream(path, { highWaterMark: BLOB_BYTES })) {
    digest.update(chunk as Buffer);
    await push(chunk as Buffer);
  }
  if (!hasTrailer) await push(digest.digest());
  return sink.finish();
}

async function writeManifest(dir: string, store: string, manifest: Omit<Manifest, 'version'>): Promise<void> {
  await writeFile(join(dir, store, 'v2', 'manifest', `${manifest.name}.json`), formatManifest(manifest));
}

function fullName(revision: number, codec: 'zstd' | 'gzip'): string {
  return formatName({ kind: 'full', start: 0n, last: BigInt(revision), createdSecs: CREATED_SECS, codec });
}
