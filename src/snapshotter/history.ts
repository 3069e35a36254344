/**
 * Whether an etcd still has the history that was stored (architecture, decision 6). Numbers do not tell: one
 * snapshot restored twice gives equal cluster id, member id and revisions with different data. So one record is
 * compared whole: the last one that is known of the history.
 */
import { createHash } from 'node:crypto';
import { isBackupError } from '../errors.js';
import type { StoredKey } from '../etcd/endpoint.js';
import type { DeltaLastEvent, RecordIdentity } from '../native/index.js';
import type { LastRecord } from '../snapshot/manifest.js';

export interface HistoryVerdict {
  /** "unknown": etcd can no longer tell. Nothing may be continued, but nothing is known to have changed either. */
  readonly history: 'same' | 'different' | 'unknown';
  readonly why: string;
}

/** What is asked of etcd here; `EtcdClient` is one. */
export interface KeyReader {
  getAt(
    key: Uint8Array,
    revision: bigint,
    options?: { readonly signal?: AbortSignal | undefined },
  ): Promise<StoredKey | null>;
  wasDeletedAt(
    key: Uint8Array,
    revision: bigint,
    options?: { readonly signal?: AbortSignal | undefined },
  ): Promise<boolean>;
}

/** Where a chain ends. */
export interface HistoryEnd {
  readonly revision: bigint;
  readonly record: LastRecord | undefined;
}

/** A new etcd: no key was ever written, and every history begins so. */
const EMPTY_REVISION = 1n;

/** Whether etcd still has the history that ends so; see `compareHistory`. */
export async function compareEnd(
  end: HistoryEnd | undefined,
  etcd: KeyReader,
  options: { readonly signal?: AbortSignal | undefined } = {},
): Promise<HistoryVerdict> {
  if (end !== undefined && end.record === undefined && end.revision <= EMPTY_REVISION)
    return { history: 'same', why: 'the store ends with an empty etcd, as every history begins' };
  return compareHistory(end?.record, etcd, options);
}

/** Rejects when etcd cannot be asked (UNAVAILABLE, TIMEOUT, PERMISSION): that is no verdict. */
export async function compareHistory(
  record: LastRecord | undefined,
  etcd: KeyReader,
  options: { readonly signal?: AbortSignal | undefined } = {},
): Promise<HistoryVerdict> {
  if (record === undefined)
    return { history: 'unknown', why: 'the last stored event is not known, so histories cannot be compared' };
  // No client can name it: what `--bump-revision` leaves at the raised revision.
  if (record.keyBase64 === '')
    return {
      history: 'unknown',
      why: `the store ends at revision ${record.modRevision}, which etcd was raised to and where it holds no event`,
    };
  try {
    return await (record.tombstone ? compareDeletion : comparePut)(record, etcd, options);
  } catch (error) {
    if (isBackupError(error, 'COMPACTED'))
      return {
        history: 'unknown',
        why: `etcd has compacted revision ${record.modRevision}, where the store ends`,
      };
    if (isBackupError(error, 'NOT_FOUND'))
      return {
        history: 'different',
        why: `etcd has not reached revision ${record.modRevision}, where the store ends`,
      };
    throw error;
  }
}

export function recordOfDb(identity: RecordIdentity): LastRecord {
  const { key, main, tombstone, sha256 } = identity;
  return { keyBase64: key.toString('base64'), modRevision: main, tombstone, sha256 };
}

export function recordOfDelta({ key, main, tombstone, recordSha256 }: DeltaLastEvent): LastRecord {
  return { keyBase64: key.toString('base64'), modRevision: main, tombstone, sha256: recordSha256 };
}

async function comparePut(
  record: LastRecord,
  etcd: KeyReader,
  options: { readonly signal?: AbortSignal | undefined },
): Promise<HistoryVerdict> {
  const found = await etcd.getAt(keyOf(record), record.modRevision, options);
  const equal =
    found !== null && found.modRevision === record.modRevision && sha256Of(found) === record.sha256;
  return equal ? same(record) : different(record);
}

/**
 * A key that is there one revision before and not there now was deleted by just this one. Where it was not there before
 * either, the revision may have put it as well; then the deletion itself is asked for.
 */
async function compareDeletion(
  record: LastRecord,
  etcd: KeyReader,
  options: { readonly signal?: AbortSignal | undefined },
): Promise<HistoryVerdict> {
  const key = keyOf(record);
  if ((await etcd.getAt(key, record.modRevision, options)) !== null) return different(record);
  if (await wasThere(key, record.modRevision - 1n, etcd, options)) return same(record);
  if (await etcd.wasDeletedAt(key, record.modRevision, options)) return same(record);
  return {
    history: 'unknown',
    why: `the store ends with a deletion at revision ${record.modRevision} that etcd cannot confirm`,
  };
}

async function wasThere(
  key: Buffer,
  revision: bigint,
  etcd: KeyReader,
  options: { readonly signal?: AbortSignal | undefined },
): Promise<boolean> {
  try {
    return (await etcd.getAt(key, revision, options)) !== null;
  } catch (error) {
    if (isBackupError(error, 'COMPACTED')) return false;
    throw error;
  }
}

function same({ modRevision }: LastRecord): HistoryVerdict {
  return { history: 'same', why: `etcd holds the last stored event, revision ${modRevision}, unchanged` };
}

function different({ modRevision }: LastRecord): HistoryVerdict {
  return {
    history: 'different',
    why: `etcd holds another event at revision ${modRevision} than the store: its history was replaced`,
  };
}

function keyOf(record: LastRecord): Buffer {
  return Buffer.from(record.keyBase64, 'base64');
}

/** Of the record as etcd keeps it: mvccpb.KeyValue, fields ascending, what is empty or 0 left out. */
export function sha256Of(kv: StoredKey): string {
  const digest = createHash('sha256');
  addBytes(1, kv.key);
  addNumber(2, kv.createRevision);
  addNumber(3, kv.modRevision);
  addNumber(4, kv.version);
  addBytes(5, kv.value);
  addNumber(6, kv.lease);
  return digest.digest('hex');

  function addNumber(field: number, value: bigint): void {
    if (value !== 0n) digest.update(Buffer.from([field << 3, ...varint(value)]));
  }

  function addBytes(field: number, bytes: Uint8Array): void {
    if (bytes.length === 0) return;
    digest.update(Buffer.from([(field << 3) | 2, ...varint(BigInt(bytes.length))]));
    digest.update(bytes);
  }
}

function varint(value: bigint): number[] {
  const bytes: number[] = [];
  let left = BigInt.asUintN(64, value);
  for (; left > 0x7fn; left >>= 7n) bytes.push(Number(left & 0x7fn) | 0x80);
  bytes.push(Number(left));
  return bytes;
}
