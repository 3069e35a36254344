/** A gRPC server that answers Watch and Snapshot as a test says: for what a real etcd does only now and then. */
import {
  Server,
  ServerCredentials,
  type ServerDuplexStream,
  type ServerWritableStream,
  type ServiceDefinition,
  type UntypedServiceImplementation,
} from '@grpc/grpc-js';
import protobuf from 'protobufjs';
import { WatchResponse } from './collecting-sink.js';

export type WatchStream = ServerDuplexStream<Buffer, Buffer>;
export type SnapshotStream = ServerWritableStream<Buffer, Buffer>;

export interface Script {
  /** Called for each stream with the revision that it asked to start at. */
  readonly onWatch?: (stream: WatchStream, startRevision: bigint) => void;
  readonly onSnapshot?: (stream: SnapshotStream) => void;
}

export interface ScriptedEtcd {
  readonly endpoint: string;
  close(): void;
}

const asIs = (bytes: Buffer) => bytes;
const raw = {
  requestSerialize: asIs,
  requestDeserialize: asIs,
  responseSerialize: asIs,
  responseDeserialize: asIs,
};

export async function scriptedEtcd(script: Script): Promise<ScriptedEtcd> {
  const server = new Server();
  add(
    server,
    'Watch',
    { path: '/etcdserverpb.Watch/Watch', requestStream: true, responseStream: true },
    {
      Watch: (stream: WatchStream) => {
        stream.once('data', (request: Buffer) => script.onWatch?.(stream, startOf(request)));
        stream.on('error', () => undefined);
      },
    },
  );
  const snapshot = { path: '/etcdserverpb.Maintenance/Snapshot', requestStream: false, responseStream: true };
  add(server, 'Snapshot', snapshot, { Snapshot: (stream: SnapshotStream) => script.onSnapshot?.(stream) });
  // The compaction guard asks; this store was never compacted.
  add(
    server,
    'Range',
    { path: '/etcdserverpb.KV/Range', requestStream: false, responseStream: false },
    {
      Range: (_call: unknown, done: (error: null, response: Buffer) => void) => done(null, Buffer.alloc(0)),
    },
  );
  const port = await new Promise<number>((resolve, reject) => {
    const bound = (error: Error | null, boundPort: number) => (error ? reject(error) : resolve(boundPort));
    server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), bound);
  });
  return { endpoint: `http://127.0.0.1:${port}`, close: () => server.forceShutdown() };
}

export interface ScriptedResponse {
  readonly headerRevision: number;
  readonly created?: boolean;
  readonly fragment?: boolean;
  /** One put per revision given. */
  readonly revisions?: readonly number[];
}

export function watchResponse({ headerRevision, created, fragment, revisions }: ScriptedResponse): Buffer {
  const events = (revisions ?? []).map((revision) => ({
    type: 0,
    kv: { key: Buffer.from(`key-${revision}`), value: Buffer.from('v'), mod_revision: revision, version: 1 },
  }));
  const message = {
    header: { revision: headerRevision },
    created: created ?? false,
    fragment: fragment ?? false,
    events,
  };
  return Buffer.from(WatchResponse.encode(message).finish());
}

export function range(from: number, to: number): number[] {
  return Array.from({ length: to - from + 1 }, (_, at) => from + at);
}

const { root } = protobuf.parse(
  `syntax = "proto3";
  message Create { int64 start_revision = 3; } message Request { Create create_request = 1; }
  message Part { uint64 remaining_bytes = 2; bytes blob = 3; }`,
  { keepCase: true },
);

/** One message of a snapshot stream. */
export function snapshotPart(remainingBytes: number, blob: Buffer): Buffer {
  return Buffer.from(root.lookupType('Part').encode({ remaining_bytes: remainingBytes, blob }).finish());
}

export function blobOf(message: Uint8Array): Buffer {
  return Buffer.from((root.lookupType('Part').decode(message) as unknown as { blob: Uint8Array }).blob);
}

function startOf(request: Buffer): bigint {
  const decoded = root.lookupType('Request').decode(request) as unknown as {
    create_request: { start_revision: { toString(): string } };
  };
  return BigInt(decoded.create_request.start_revision.toString());
}

function add(
  server: Server,
  name: string,
  method: { path: string; requestStream: boolean; responseStream: boolean },
  implementation: UntypedServiceImplementation,
): void {
  server.addService({ [name]: { ...method, ...raw } } as ServiceDefinition, implementation);
}
