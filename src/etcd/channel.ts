/**
 * gRPC with bytes in and bytes out, one connection of its own per channel, for what must not be decoded in JavaScript:
 * Watch, Snapshot, and the transactions of a replay. A channel has its own connection, because the flow-control window
 * of HTTP/2 is shared by all streams of one: a paused snapshot would hold up the watch.
 */
import {
  type CallOptions,
  Client,
  type ClientDuplexStream,
  type ClientReadableStream,
  type Metadata,
} from '@grpc/grpc-js';
import { channelCredentials, type EtcdConnection, grpcTarget, tlsOptions } from './connection.js';
import { etcdFailure } from './failure.js';
import { decodeToken, encodeAuthenticate } from './proto.js';
import type { ReadAhead } from './read-ahead.js';
import { TokenSource } from './token.js';

/** The largest message taken: an event of 512 MiB is the bound of the delta format; one response may hold two. */
export const MAX_MESSAGE_BYTES = 1024 * 1024 * 1024;
/** A dead peer is noticed within the sum of these two. etcd refuses pings more often than every 5 s. */
export const KEEPALIVE_TIME_MS = 10_000;
export const KEEPALIVE_TIMEOUT_MS = 10_000;
const INITIAL_RECONNECT_BACKOFF_MS = 100;
const MAX_RECONNECT_BACKOFF_MS = 5_000;

export interface ChannelOptions {
  /** HTTP/2 flow-control window: bytes that the server may send ahead of the reader. */
  readonly windowBytes: number;
}

export interface UnaryOptions {
  readonly timeoutMs: number;
  readonly signal?: AbortSignal | undefined;
}

export interface DuplexOptions {
  readonly headers: Readonly<Record<string, string>>;
  readonly readAhead: ReadAhead;
}

export class RawChannel {
  readonly endpoint: string;
  readonly #client: Client;
  readonly #tokens: TokenSource;

  private constructor(endpoint: string, client: Client, connection: EtcdConnection) {
    this.endpoint = endpoint;
    this.#client = client;
    this.#tokens = new TokenSource(() => authenticate(client, connection));
  }

  /** Reads the TLS files; connects when first used. */
  static async open(
    connection: EtcdConnection,
    endpoint: string,
    options: ChannelOptions,
  ): Promise<RawChannel> {
    const credentials = await channelCredentials(connection, endpoint);
    const client = new Client(grpcTarget(endpoint), credentials, {
      ...tlsOptions(connection, endpoint),
      'grpc.max_receive_message_length': MAX_MESSAGE_BYTES,
      'grpc.max_send_message_length': MAX_MESSAGE_BYTES,
      'grpc-node.flow_control_window': options.windowBytes,
      'grpc.keepalive_time_ms': KEEPALIVE_TIME_MS,
      'grpc.keepalive_timeout_ms': KEEPALIVE_TIMEOUT_MS,
      'grpc.initial_reconnect_backoff_ms': INITIAL_RECONNECT_BACKOFF_MS,
      'grpc.max_reconnect_backoff_ms': MAX_RECONNECT_BACKOFF_MS,
      'grpc.use_local_subchannel_pool': 1,
      'grpc.enable_retries': 0,
    });
    return new RawChannel(endpoint, client, connection);
  }

  /** `method` as on the wire: `/etcdserverpb.KV/Txn`. Any number may be in flight; they are sent in call order. */
  async unary(method: string, request: Buffer, options: UnaryOptions): Promise<Buffer> {
    try {
      return await this.#tokens.run((metadata) => unary(this.#client, method, request, metadata, options));
    } catch (error) {
      throw etcdFailure(error, `etcd ${shortName(method)}`, this.endpoint);
    }
  }

  async serverStream(method: string, request: Buffer): Promise<ClientReadableStream<Buffer>> {
    const metadata = await this.#streamMetadata(method);
    return quiet(this.#client.makeServerStreamRequest(method, asIs, asIs, request, metadata));
  }

  /** `headers` are added to the token. */
  async duplex(method: string, options: DuplexOptions): Promise<ClientDuplexStream<Buffer, Buffer>> {
    const metadata = await this.#streamMetadata(method);
    for (const [name, value] of Object.entries(options.headers)) metadata.set(name, value);
    return quiet(
      this.#client.makeBidiStreamRequest(method, asIs, asIs, metadata, {
        interceptors: [options.readAhead.interceptor],
      }),
    );
  }

  close(): void {
    this.#client.close();
  }

  async #streamMetadata(method: string): Promise<Metadata> {
    try {
      return await this.#tokens.metadata();
    } catch (error) {
      throw etcdFailure(error, `etcd ${shortName(method)}`, this.endpoint);
    }
  }
}

/** A token for the configured user, or none: without a user, and when etcd has auth switched off (as etcdctl does). */
export async function authenticate(client: Client, connection: EtcdConnection): Promise<string | undefined> {
  const { username, password, connectionTimeoutMs } = connection;
  if (username === undefined || username === '') return undefined;
  const request = encodeAuthenticate(username, password ?? '');
  const method = '/etcdserverpb.Auth/Authenticate';
  try {
    return decodeToken(await unary(client, method, request, undefined, { timeoutMs: connectionTimeoutMs }));
  } catch (error) {
    if (/authentication is not enabled/.test(String((error as Error).message))) return undefined;
    throw error;
  }
}

function unary(
  client: Client,
  method: string,
  request: Buffer,
  metadata: Metadata | undefined,
  { timeoutMs, signal }: UnaryOptions,
): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted();
    const options: CallOptions = { deadline: Date.now() + timeoutMs };
    const settle = (error: Error | null, response?: Buffer) => {
      signal?.removeEventListener('abort', cancel);
      if (error === null && response !== undefined) resolve(response);
      else reject(error ?? new Error('no response'));
    };
    const call =
      metadata === undefined
        ? client.makeUnaryRequest(method, asIs, asIs, request, options, settle)
        : client.makeUnaryRequest(method, asIs, asIs, request, metadata, options, settle);
    const cancel = () => call.cancel();
    signal?.addEventListener('abort', cancel, { once: true });
  });
}

/** A cancelled stream emits `error` although nobody reads it any more; without a listener that ends the process. */
function quiet<S extends ClientReadableStream<Buffer> | ClientDuplexStream<Buffer, Buffer>>(stream: S): S {
  stream.on('error', () => undefined);
  return stream;
}

function asIs(bytes: Buffer): Buffer {
  return bytes;
}

/** "/etcdserverpb.KV/Txn" to "Txn". */
function shortName(method: string): string {
  return method.slice(method.lastIndexOf('/') + 1);
}
