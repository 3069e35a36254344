/**
 * Whether a set is complete and true: the planner finds one chain up to the revision, every object is sound, every
 * record that the deltas stand for equals the one in a snapshot of the source, byte for byte, and HashKV of the full
 * equals what etcd answers. Needs a source that was not compacted since the full.
 */
import { createWriteStream } from 'node:fs';
import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { expect } from 'vitest';
import type { EtcdEndpoint } from '../../src/etcd/endpoint.js';
import {
  inspectDb,
  proveRecords,
  Replay,
  transcodeDelta,
  unpackFull,
  verifyDelta,
} from '../../src/native/index.js';
import { planRestore } from '../../src/snapshot/chain.js';
import { classifyKey } from '../../src/snapshot/key.js';
import { MAX_MANIFEST_BYTES, parseManifest } from '../../src/snapshot/manifest.js';
import type { Plan, StoredSnapshot } from '../../src/snapshot/plan.js';
import { manifestKey } from '../../src/store/layout.js';
import { readSmall } from '../../src/store/read.js';
import type { Store } from '../../src/store/store.js';
import type { TestEtcd } from '../servers/etcd.js';
import { removeTempDir, tempDir } from '../servers/process.js';

/** All backups with their manifests; fails on anything half-made or foreign. */
export async function readSet(store: Store): Promise<StoredSnapshot[]> {
  const objects: StoredSnapshot[] = [];
  for await (const { key, bytes } of store.list('')) {
    const found = classifyKey(key);
    if (found.what === 'manifest') continue;
    if (found.what !== 'snapshot') throw new Error(`the store holds ${key}`);
    const { name } = found;
    const text = await readSmall(store, manifestKey(name.text), { maxBytes: MAX_MANIFEST_BYTES }).catch(
      () => undefined,
    );
    const manifest = text === undefined ? undefined : parseManifest(name.text, text);
    objects.push({ key, name, bytes, manifest });
  }
  return objects;
}

export async function planOf(store: Store): Promise<Plan> {
  const planned = planRestore({ objects: await readSet(store) });
  if (planned.kind !== 'ready')
    throw new Error(`the plan is ${planned.kind}: ${JSON.stringify(planned, text)}`);
  expect(planned.warnings).toEqual([]);
  return planned.plan;
}

/** The set reaches the revision that etcd has now, and equals it. */
export async function proveSet(store: Store, etcd: TestEtcd, endpoint: EtcdEndpoint): Promise<Plan> {
  const plan = await planOf(store);
  const { revision } = await endpoint.status();
  expect(plan.revision).toBe(revision);
  const dir = tempDir('prove');
  try {
    await proveDeltas(store, plan, etcd, dir);
    await proveBase(plan, endpoint);
  } finally {
    await removeTempDir(dir);
  }
  return plan;
}

async function proveDeltas(store: Store, plan: Plan, etcd: TestEtcd, dir: string): Promise<void> {
  const after = await baseRevision(store, plan, dir);
  const replay = new Replay(after);
  for (const { object, to } of plan.deltas) {
    const path = await fetched(store, object, dir);
    await verifyDelta(object.name.text, path);
    const ebd = object.name.codec === 'ebd' ? path : `${path}.ebd`;
    if (ebd !== path) await transcodeDelta(object.name.text, { source: path, target: ebd, codec: 'none' });
    replay.open(object.name.text, ebd, to);
    while ((await replay.next()) !== null);
  }
  const truth = join(dir, 'truth.db');
  await etcd.ctl('snapshot', 'save', truth);
  const { revision } = await inspectDb(truth);
  expect(replay.position()).toBe(revision);
  const proof = await proveRecords(truth, { after, checkpoints: [replay.checkpoint()] });
  expect(proof.lastRevision).toBe(revision > after ? revision : proof.lastRevision);
}

async function baseRevision(store: Store, { base }: Plan, dir: string): Promise<bigint> {
  const source = await fetched(store, base, dir);
  const target = join(dir, 'base.db');
  const codec = base.name.codec === 'ebd' ? 'none' : base.name.codec;
  const unpacked = await unpackFull(base.name.text, {
    source,
    target,
    codec,
    stripTrailer: true,
    maxBytes: 2 ** 34,
  });
  expect(unpacked.trailer).toBe('good');
  if (base.manifest !== undefined) {
    expect(unpacked.packedSha256).toBe(base.manifest.sha256);
    expect(unpacked.dbSha256).toBe(base.manifest.plain?.sha256);
  }
  const { revision } = await inspectDb(target);
  expect(revision).toBe(base.name.last);
  await rm(target);
  return revision;
}

async function proveBase({ base }: Plan, endpoint: EtcdEndpoint): Promise<void> {
  const hash = base.manifest?.hashKv;
  if (hash === undefined) return;
  const answer = await endpoint.hashKv(hash.revision, { timeoutMs: 30_000 });
  if (answer.compactRevision === hash.compactRevision) expect(hash.hash).toBe(answer.hash);
}

async function fetched(store: Store, { key, name }: StoredSnapshot, dir: string): Promise<string> {
  await mkdir(dir, { recursive: true });
  const path = join(dir, name.text);
  await pipeline(Readable.from(store.get(key), { objectMode: false }), createWriteStream(path));
  return path;
}

function text(_key: string, value: unknown): unknown {
  return typeof value === 'bigint' ? value.toString() : value;
}
