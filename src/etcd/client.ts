/** An etcd of one or more endpoints: short calls go to the endpoint that answered last, then to the others in turn. */
import { BackupError, isBackupError } from '../errors.js';
import type { EtcdConnection } from './connection.js';
import {
  type Alarm,
  type CallOptions,
  type EndpointStatus,
  EtcdEndpoint,
  type KvHash,
  type Member,
  type StoredKey,
} from './endpoint.js';
import { type DeletedAtOptions, wasDeletedAt } from './key-events.js';

export class EtcdClient {
  readonly connection: EtcdConnection;
  readonly endpoints: readonly EtcdEndpoint[];
  #preferred = 0;

  private constructor(connection: EtcdConnection, endpoints: readonly EtcdEndpoint[]) {
    this.connection = connection;
    this.endpoints = endpoints;
  }

  /** Reads the TLS files; connects with the first call. */
  static async open(connection: EtcdConnection): Promise<EtcdClient> {
    if (connection.endpoints.length === 0) {
      throw new BackupError('USAGE', 'no endpoint is given', { op: 'etcd', hint: 'give --endpoints' });
    }
    const opening = connection.endpoints.map((endpoint) => EtcdEndpoint.open(connection, endpoint));
    return new EtcdClient(connection, await Promise.all(opening));
  }

  close(): void {
    for (const endpoint of this.endpoints) endpoint.close();
  }

  /** Of the first endpoint that answers. */
  status(options?: CallOptions): Promise<EndpointStatus> {
    return this.#any((endpoint) => endpoint.status(options));
  }

  getAt(key: Uint8Array, revision: bigint, options?: CallOptions): Promise<StoredKey | null> {
    return this.#any((endpoint) => endpoint.getAt(key, revision, options));
  }

  /** Also tells where the revision put the key as well, which reads cannot; see `wasDeletedAt`. */
  wasDeletedAt(key: Uint8Array, revision: bigint, options?: DeletedAtOptions): Promise<boolean> {
    return this.#any(({ endpoint }) => wasDeletedAt(this.connection, endpoint, key, revision, options));
  }

  assertReadable(revision: bigint, options?: CallOptions): Promise<void> {
    return this.#any((endpoint) => endpoint.assertReadable(revision, options));
  }

  leaseGrantedTtlSeconds(id: bigint, options?: CallOptions): Promise<bigint | null> {
    return this.#any((endpoint) => endpoint.leaseGrantedTtlSeconds(id, options));
  }

  hashKv(revision: bigint, options?: CallOptions): Promise<KvHash> {
    return this.#any((endpoint) => endpoint.hashKv(revision, options));
  }

  memberList(options?: CallOptions): Promise<Member[]> {
    return this.#any((endpoint) => endpoint.memberList(options));
  }

  alarms(options?: CallOptions): Promise<Alarm[]> {
    return this.#any((endpoint) => endpoint.alarms(options));
  }

  /** Whether any endpoint answers, without throwing; the failure of the last one tried otherwise. */
  async probe(
    options?: CallOptions,
  ): Promise<{ reachable: true } | { reachable: false; error: BackupError }> {
    try {
      await this.status(options);
      return { reachable: true };
    } catch (error) {
      if (!isBackupError(error)) throw error;
      return { reachable: false, error };
    }
  }

  async #any<T>(call: (endpoint: EtcdEndpoint) => Promise<T>): Promise<T> {
    let last: unknown;
    for (let tried = 0; tried < this.endpoints.length; tried++) {
      const index = (this.#preferred + tried) % this.endpoints.length;
      try {
        const answer = await call(this.endpoints[index] as EtcdEndpoint);
        this.#preferred = index;
        return answer;
      } catch (error) {
        if (!isBackupError(error, 'UNAVAILABLE') && !isBackupError(error, 'TIMEOUT')) throw error;
        last = error;
      }
    }
    throw last;
  }
}
