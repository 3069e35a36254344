/**
 * What etcd3's typed clients call through: one endpoint, our TLS, our tokens, a deadline on every call, and no retries
 * of its own. etcd3's own pool cannot skip TLS verification, calls without a deadline, and repeats a refused token
 * without end.
 */
import type { CallOptions, Client, Metadata, ServiceError } from '@grpc/grpc-js';
import type { ICallable } from 'etcd3';
import { Host } from 'etcd3/lib/connection-pool.js';
import { BackupError } from '../errors.js';
import { authenticate, KEEPALIVE_TIME_MS, KEEPALIVE_TIMEOUT_MS } from './channel.js';
import { channelCredentials, type EtcdConnection, grpcTarget, tlsOptions } from './connection.js';
import { etcdFailure } from './failure.js';
import { TokenSource } from './token.js';

/** Rides through etcd3's typed clients, which pass their options on untouched. */
export interface CallLimits extends CallOptions {
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal | undefined;
}

type Service = Parameters<ICallable<Host>['exec']>[0];
type Method = (
  request: unknown,
  metadata: Metadata,
  options: CallOptions,
  done: (error: ServiceError | null, response: unknown) => void,
) => { cancel(): void };

export class CallPool implements ICallable<Host> {
  readonly callOptionsFactory = undefined;
  readonly #endpoint: string;
  readonly #host: Host;
  readonly #tokens: TokenSource;
  readonly #timeoutMs: number;

  private constructor(endpoint: string, host: Host, connection: EtcdConnection) {
    this.#endpoint = endpoint;
    this.#host = host;
    this.#timeoutMs = connection.connectionTimeoutMs;
    this.#tokens = new TokenSource(() => authenticate(this.#service('Auth'), connection));
  }

  static async open(connection: EtcdConnection, endpoint: string): Promise<CallPool> {
    const credentials = await channelCredentials(connection, endpoint);
    const host = new Host(grpcTarget(endpoint), credentials, {
      ...tlsOptions(connection, endpoint),
      'grpc.max_receive_message_length': MAX_UNARY_RESPONSE_BYTES,
      'grpc.keepalive_time_ms': KEEPALIVE_TIME_MS,
      'grpc.keepalive_timeout_ms': KEEPALIVE_TIMEOUT_MS,
      'grpc.initial_reconnect_backoff_ms': 100,
      'grpc.max_reconnect_backoff_ms': 5_000,
    });
    return new CallPool(endpoint, host, connection);
  }

  async exec<T>(service: Service, method: string, request: unknown, limits: CallLimits = {}): Promise<T> {
    try {
      return (await this.#tokens.run((metadata) =>
        this.#call(service, method, request, metadata, limits),
      )) as T;
    } catch (error) {
      throw etcdFailure(error, `etcd ${method}`, this.#endpoint);
    }
  }

  async withConnection(): Promise<never> {
    throw new BackupError('INTERNAL', 'streams go over channel.ts, not over etcd3', { op: 'etcd' });
  }

  markFailed(): void {}

  close(): void {
    this.#host.close();
  }

  #call(
    service: Service,
    method: string,
    request: unknown,
    metadata: Metadata,
    { timeoutMs = this.#timeoutMs, signal }: CallLimits,
  ): Promise<unknown> {
    return new Promise((resolve, reject) => {
      signal?.throwIfAborted();
      const client = this.#service(service);
      const run = (client as unknown as Record<string, Method>)[protoName(method)];
      if (run === undefined) throw new BackupError('INTERNAL', `etcd3 knows no ${service}.${method}`);
      const options = { deadline: Date.now() + timeoutMs };
      const call = run.call(client, request, metadata, options, (error, response) => {
        signal?.removeEventListener('abort', cancel);
        if (error === null) resolve(response);
        else reject(error);
      });
      const cancel = () => call.cancel();
      signal?.addEventListener('abort', cancel, { once: true });
    });
  }

  #service(name: Service): Client {
    return this.#host.getServiceClient(name);
  }
}

/** grpc-js has every method under its name in the .proto; under its lower-case one etcd3 calls a `hashKV` that is not there. */
function protoName(method: string): string {
  return method.charAt(0).toUpperCase() + method.slice(1);
}

/** A Range of one key holds one value; `--max-request-bytes` may allow large ones. */
const MAX_UNARY_RESPONSE_BYTES = 512 * 1024 * 1024;
