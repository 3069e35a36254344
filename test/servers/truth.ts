/** Everything that two etcds must agree on for one to be a restore of the other. */
import { type EtcdEndpoint, type KvHash, type StoredKey, storedKey } from '../../src/etcd/endpoint.js';

export interface Truth {
  readonly revision: bigint;
  /** In key order. */
  readonly keys: readonly StoredKey[];
  /** Lease id to granted TTL in seconds. */
  readonly leases: ReadonlyMap<bigint, bigint>;
  readonly hash: KvHash;
}

const PAGE_KEYS = 500;
const MAX_DIFFERENCES = 20;

/** Reads a live etcd at its current revision, or at an earlier one. */
export async function readTruth(etcd: EtcdEndpoint, at?: bigint): Promise<Truth> {
  const revision = at ?? (await etcd.status()).revision;
  return {
    revision,
    keys: await readKeys(etcd, revision),
    leases: await readLeases(etcd),
    hash: await etcd.hashKv(revision, { timeoutMs: 60_000 }),
  };
}

/**
 * What differs, in words; empty when equal. HashKV counts only when both were compacted to the same revision; a
 * restore keeps more history than a source that was compacted since.
 */
export function truthDifferences(expected: Truth, actual: Truth): string[] {
  const differences: string[] = [];
  if (expected.revision !== actual.revision) {
    differences.push(`revision: expected ${expected.revision}, found ${actual.revision}`);
  }
  compareKeys(expected.keys, actual.keys, differences);
  for (const [id, ttl] of expected.leases) {
    if (actual.leases.get(id) !== ttl)
      differences.push(`lease ${id}: expected ${ttl} s, found ${actual.leases.get(id)}`);
  }
  for (const id of actual.leases.keys())
    if (!expected.leases.has(id)) differences.push(`lease ${id}: not expected`);
  const comparable = expected.hash.compactRevision === actual.hash.compactRevision;
  if (comparable && expected.hash.hash !== actual.hash.hash) {
    differences.push(
      `HashKV at ${expected.revision}: expected ${expected.hash.hash}, found ${actual.hash.hash}`,
    );
  }
  return differences.slice(0, MAX_DIFFERENCES);
}

function compareKeys(
  expected: readonly StoredKey[],
  actual: readonly StoredKey[],
  differences: string[],
): void {
  const found = new Map(actual.map((kv) => [kv.key.toString('latin1'), kv]));
  for (const kv of expected) {
    const name = kv.key.toString('latin1');
    const other = found.get(name);
    found.delete(name);
    if (other === undefined) differences.push(`key ${JSON.stringify(name)}: missing`);
    else if (!equal(kv, other)) {
      differences.push(`key ${JSON.stringify(name)}: expected ${describe(kv)}, found ${describe(other)}`);
    }
  }
  for (const name of found.keys()) differences.push(`key ${JSON.stringify(name)}: not expected`);
}

function describe(kv: StoredKey): string {
  const value =
    kv.value.length > 40
      ? `${kv.value.length} bytes ${kv.value.toString('hex', 0, 20)}…`
      : kv.value.toString('hex');
  return `mod ${kv.modRevision} create ${kv.createRevision} version ${kv.version} lease ${kv.lease} value ${value}`;
}

function equal(a: StoredKey, b: StoredKey): boolean {
  const numbers = ['modRevision', 'createRevision', 'version', 'lease'] as const;
  return a.value.equals(b.value) && numbers.every((name) => a[name] === b[name]);
}

export async function readKeys(etcd: EtcdEndpoint, revision: bigint): Promise<StoredKey[]> {
  const keys: StoredKey[] = [];
  let from = Buffer.from([0]);
  for (;;) {
    const request = { key: from, range_end: Buffer.from([0]), revision: String(revision), limit: PAGE_KEYS };
    const { kvs, more } = await etcd.kv.range(request);
    keys.push(...kvs.map(storedKey));
    const last = kvs.at(-1);
    if (!more || last === undefined) return keys;
    from = Buffer.concat([last.key, Buffer.from([0])]);
  }
}

async function readLeases(etcd: EtcdEndpoint): Promise<Map<bigint, bigint>> {
  const { leases } = await etcd.lease.leaseLeases();
  const granted = new Map<bigint, bigint>();
  for (const { ID } of leases) {
    const ttl = await etcd.leaseGrantedTtlSeconds(BigInt(ID));
    if (ttl !== null) granted.set(BigInt(ID), ttl);
  }
  return granted;
}
