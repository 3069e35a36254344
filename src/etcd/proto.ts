/**
 * The few etcd messages that TypeScript encodes or decodes itself, over raw gRPC. What carries the data of a backup
 * is not here: it is read natively. Unknown fields are skipped, so a message lists only what is used.
 */
import protobuf from 'protobufjs/light.js';

const root = protobuf.Root.fromJSON({
  nested: {
    ResponseHeader: message({
      cluster_id: ['uint64', 1],
      member_id: ['uint64', 2],
      revision: ['int64', 3],
      raft_term: ['uint64', 4],
    }),
    WatchCreateRequest: message({
      key: ['bytes', 1],
      range_end: ['bytes', 2],
      start_revision: ['int64', 3],
      progress_notify: ['bool', 4],
      fragment: ['bool', 8],
    }),
    WatchProgressRequest: message({}),
    KeyValue: message({ key: ['bytes', 1], mod_revision: ['int64', 3] }),
    Event: message({ type: ['int32', 1], kv: ['KeyValue', 2] }),
    WatchResponse: {
      fields: {
        canceled: { type: 'bool', id: 4 },
        compact_revision: { type: 'int64', id: 5 },
        events: { rule: 'repeated', type: 'Event', id: 11 },
      },
    },
    WatchRequest: message({
      create_request: ['WatchCreateRequest', 1],
      progress_request: ['WatchProgressRequest', 3],
    }),
    AuthenticateRequest: message({ name: ['string', 1], password: ['string', 2] }),
    AuthenticateResponse: message({ header: ['ResponseHeader', 1], token: ['string', 2] }),
    TxnResponse: message({ header: ['ResponseHeader', 1], succeeded: ['bool', 2] }),
    LeaseGrantRequest: message({ TTL: ['int64', 1], ID: ['int64', 2] }),
    LeaseGrantResponse: message({
      header: ['ResponseHeader', 1],
      ID: ['int64', 2],
      TTL: ['int64', 3],
      error: ['string', 4],
    }),
  },
});

const DELETE = 1;

const types = {
  WatchRequest: root.lookupType('WatchRequest'),
  WatchResponse: root.lookupType('WatchResponse'),
  AuthenticateRequest: root.lookupType('AuthenticateRequest'),
  AuthenticateResponse: root.lookupType('AuthenticateResponse'),
  TxnResponse: root.lookupType('TxnResponse'),
  LeaseGrantRequest: root.lookupType('LeaseGrantRequest'),
  LeaseGrantResponse: root.lookupType('LeaseGrantResponse'),
};

/** A watch of everything there is: key "\0" to the end, every event, large responses in fragments. */
export function encodeWatchAll(startRevision: bigint): Buffer {
  const everything = Buffer.from([0]);
  return encode(types.WatchRequest, {
    create_request: {
      key: everything,
      range_end: everything,
      start_revision: fromBigInt(startRevision),
      progress_notify: true,
      fragment: true,
    },
  });
}

/** A watch of one key, for a look at what happened to it. */
export function encodeWatchKey(key: Uint8Array, startRevision: bigint): Buffer {
  return encode(types.WatchRequest, {
    create_request: { key, start_revision: fromBigInt(startRevision), fragment: true },
  });
}

/** What happened to a key. */
export interface KeyEvent {
  readonly deleted: boolean;
  readonly modRevision: bigint;
}

export interface KeyEvents {
  readonly canceled: boolean;
  readonly compactRevision: bigint;
  readonly events: readonly KeyEvent[];
}

export function decodeKeyEvents(message: Buffer): KeyEvents {
  const { canceled, compact_revision, events } = types.WatchResponse.decode(message) as unknown as {
    canceled: boolean;
    compact_revision: Int64;
    events: readonly { type: number; kv: { mod_revision: Int64 } | null }[];
  };
  return {
    canceled,
    compactRevision: toBigInt(compact_revision),
    events: events.map(({ type, kv }) => ({
      deleted: type === DELETE,
      modRevision: kv === null ? 0n : toBigInt(kv.mod_revision),
    })),
  };
}

export function encodeWatchProgress(): Buffer {
  return encode(types.WatchRequest, { progress_request: {} });
}

export function encodeAuthenticate(name: string, password: string): Buffer {
  return encode(types.AuthenticateRequest, { name, password });
}

export function decodeToken(message: Buffer): string {
  return (types.AuthenticateResponse.decode(message) as unknown as { token: string }).token;
}

export interface TxnOutcome {
  readonly revision: bigint;
  readonly succeeded: boolean;
}

export function decodeTxnOutcome(message: Buffer): TxnOutcome {
  const txn = types.TxnResponse.decode(message) as unknown as {
    header: { revision: Int64 } | null;
    succeeded: boolean;
  };
  return { revision: txn.header === null ? 0n : toBigInt(txn.header.revision), succeeded: txn.succeeded };
}

export function encodeLeaseGrant(id: bigint, ttlSeconds: bigint): Buffer {
  return encode(types.LeaseGrantRequest, { ID: fromBigInt(id), TTL: fromBigInt(ttlSeconds) });
}

export function decodeLeaseGrant(message: Buffer): { id: bigint; ttlSeconds: bigint } {
  const grant = types.LeaseGrantResponse.decode(message) as unknown as { ID: Int64; TTL: Int64 };
  return { id: toBigInt(grant.ID), ttlSeconds: toBigInt(grant.TTL) };
}

/** How protobufjs holds 64 bits: exact halves; a plain 0 where the field is absent. */
type Int64 = { low: number; high: number; unsigned: boolean } | number;

function toBigInt(value: Int64): bigint {
  if (typeof value === 'number') return BigInt(value);
  const high = BigInt(value.unsigned ? value.high >>> 0 : value.high);
  return (high << 32n) | BigInt(value.low >>> 0);
}

function fromBigInt(value: bigint): Int64 {
  const bits = BigInt.asUintN(64, value);
  return { low: Number(bits & 0xffffffffn) | 0, high: Number(bits >> 32n) | 0, unsigned: false };
}

function encode(type: protobuf.Type, fields: Record<string, unknown>): Buffer {
  const bytes = type.encode(fields).finish();
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

function message(fields: Record<string, readonly [type: string, id: number]>) {
  const entries = Object.entries(fields).map(([name, [type, id]]) => [name, { type, id }] as const);
  return { fields: Object.fromEntries(entries) };
}
