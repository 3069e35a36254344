/** What the tests of seats and members share: stores that hold one full of a real etcd, and what that etcd held. */
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import type { RestoreResult } from '../../src/restorer/restore.js';
import type { EtcdVersion } from '../servers/binaries.js';
import { planMembers, TestCluster } from '../servers/cluster.js';
import { fixture, type RestoreChange, restoreFrom } from './request.js';
import { cleanUp } from './set-up.js';

/** HashKV at a revision, and the compaction that it goes with. */
export interface HashedState {
  readonly revision: bigint;
  readonly hash: number;
  readonly compactRevision: bigint;
}

export interface StoreWithFull extends HashedState {
  readonly container: string;
}

/** The full is a fixture's: `snapshot.db.gz`, or the one taken later with auth on and an alarm raised. */
export async function storeWithFull(
  container: string,
  version: EtcdVersion,
  snapshot: 'snapshot' | 'snapshot-auth-alarm' = 'snapshot',
): Promise<StoreWithFull> {
  const set = fixture(`etcd-${version.split('.').slice(0, 2).join('.')}`);
  const db = gunzipSync(await readFile(join(set, `${snapshot}.db.gz`)));
  const [stated] = JSON.parse(await readFile(join(set, 'hashkv.json'), 'utf8'));
  const { hash, compact_revision, header } = stated.HashKV;
  const revision = BigInt(header.revision);
  await storeFull(container, db, revision);
  return { container, revision, hash, compactRevision: BigInt(compact_revision) };
}

/** A store of the Go tool's layout with one full in it. */
export async function storeFull(container: string, db: Uint8Array, revision: bigint): Promise<void> {
  await mkdir(join(container, 'v2'), { recursive: true });
  const name = `Full-00000000-${revision.toString().padStart(8, '0')}-1700000000`;
  await writeFile(join(container, 'v2', name), db);
}

/** Restores every member from the same store, one after the other as an operator would, and starts them. */
export async function restoredCluster(
  version: EtcdVersion,
  count: number,
  base: string,
  change: Omit<RestoreChange, 'dataDir'>,
): Promise<{ readonly cluster: TestCluster; readonly results: readonly RestoreResult[] }> {
  const plan = await planMembers(count);
  const results: RestoreResult[] = [];
  for (const { name, peerUrl, initialCluster } of plan) {
    const flags = { name, initialCluster, advertisePeerUrls: [peerUrl], dataDir: join(base, name) };
    results.push(await restoreFrom({ ...change, ...flags }));
  }
  const cluster = await TestCluster.start(
    version,
    plan,
    plan.map(({ name }) => join(base, name)),
  );
  cleanUp(() => cluster.destroy());
  return { cluster, results };
}
