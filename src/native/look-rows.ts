/** Rows out of a batch; the layout is in the head of crates/engine/src/look/row.rs. */

const KINDS = ['put', 'delete', 'added', 'changed', 'deleted'] as const;
export type LookRowKind = (typeof KINDS)[number];

const HEAD_BYTES = 104;
/** Stands for a time that nobody knows. */
const NO_TIME = -(2n ** 63n);

/** What etcd knows of a key at one of its revisions. */
export interface LookVersion {
  readonly modRevision: bigint;
  readonly createRevision: bigint;
  readonly version: bigint;
  readonly lease: bigint;
  readonly value: Buffer;
}

/** Its own numbers are those of the state, of the change, or of the state after. */
export interface LookRow extends LookVersion {
  readonly kind: LookRowKind;
  /** Number of the object that it comes from. */
  readonly source: number;
  readonly key: Buffer;
  readonly sub: bigint;
  /** When the change arrived, where that is known. */
  readonly timeMs: number | undefined;
  /** The state before, of a key that was changed or deleted. */
  readonly before: LookVersion | undefined;
}

export function* readRows(batch: Buffer): Generator<LookRow> {
  for (let at = 0; at < batch.length; at += batch.readUInt32LE(at)) yield readRow(batch, at);
}

function readRow(batch: Buffer, at: number): LookRow {
  const kind = KINDS[batch.readUInt8(at + 4)] ?? 'put';
  const [keyAt, keyBytes, valueBytes, oldBytes] = [
    at + HEAD_BYTES,
    batch.readUInt32LE(at + 12),
    batch.readUInt32LE(at + 16),
    batch.readUInt32LE(at + 20),
  ];
  const [valueAt, oldAt] = [keyAt + keyBytes, keyAt + keyBytes + valueBytes];
  const time = batch.readBigInt64LE(at + 64);
  return {
    kind,
    source: batch.readUInt32LE(at + 8),
    key: batch.subarray(keyAt, valueAt),
    value: batch.subarray(valueAt, oldAt),
    modRevision: batch.readBigInt64LE(at + 24),
    sub: batch.readBigInt64LE(at + 32),
    createRevision: batch.readBigInt64LE(at + 40),
    version: batch.readBigInt64LE(at + 48),
    lease: batch.readBigInt64LE(at + 56),
    timeMs: time === NO_TIME ? undefined : Number(time),
    before:
      kind === 'changed' || kind === 'deleted'
        ? {
            modRevision: batch.readBigInt64LE(at + 72),
            createRevision: batch.readBigInt64LE(at + 80),
            version: batch.readBigInt64LE(at + 88),
            lease: batch.readBigInt64LE(at + 96),
            value: batch.subarray(oldAt, oldAt + oldBytes),
          }
        : undefined,
  };
}
