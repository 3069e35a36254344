/** What a fixture's source held, and whether an etcd holds the same. */
import { readFile } from 'node:fs/promises';
import { gunzipSync } from 'node:zlib';
import type { EtcdEndpoint, StoredKey } from '../../src/etcd/endpoint.js';
import { readTruth } from '../servers/truth.js';
import { fixture } from './request.js';

export interface SourceTruth {
  readonly revision: bigint;
  readonly hash: number;
  /** -1 when never compacted. */
  readonly compactRevision: bigint;
  /** By key in latin1: all that a key is. */
  readonly keys: ReadonlyMap<string, string>;
}

export async function sourceTruth(name: string): Promise<SourceTruth> {
  const [stated] = JSON.parse(await readFile(fixture(`${name}/hashkv.json`), 'utf8'));
  const lines = gunzipSync(await readFile(fixture(`${name}/keys.jsonl.gz`)))
    .toString('utf8')
    .trim()
    .split('\n');
  const keys = new Map<string, string>();
  for (const line of lines) {
    const { key, create, mod, version, value } = JSON.parse(line);
    // Above 2^53, where JSON.parse rounds.
    const lease = /"lease": (\d+)/.exec(line)?.[1];
    keys.set(key, [create, mod, version, lease, value].join(' '));
  }
  const { hash, compact_revision, header } = stated.HashKV;
  return { revision: BigInt(header.revision), hash, compactRevision: BigInt(compact_revision), keys };
}

/** In words; empty when equal. HashKV counts only after the same compactions. */
export async function differencesFrom(truth: SourceTruth, etcd: EtcdEndpoint): Promise<string[]> {
  const found = await readTruth(etcd, truth.revision);
  const differences: string[] = [];
  if (found.hash.compactRevision === truth.compactRevision && found.hash.hash !== truth.hash)
    differences.push(`HashKV: expected ${truth.hash}, found ${found.hash.hash}`);
  return [...differences, ...keyDifferences(truth, found.keys)].slice(0, 5);
}

/** Of the keys alone, in words. */
export function keyDifferences(truth: SourceTruth, found: readonly StoredKey[]): string[] {
  const differences: string[] = [];
  const keys = new Map(found.map((kv) => [kv.key.toString('latin1'), describe(kv)]));
  for (const [key, expected] of truth.keys)
    if (keys.get(key) !== expected) differences.push(`${key}: expected ${expected}, found ${keys.get(key)}`);
  for (const key of keys.keys()) if (!truth.keys.has(key)) differences.push(`${key}: not expected`);
  return differences;
}

function describe({ createRevision, modRevision, version, lease, value }: StoredKey): string {
  return [createRevision, modRevision, version, lease, value.toString('latin1')].join(' ');
}
