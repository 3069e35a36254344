/** Short calls to one endpoint, through etcd3: its 64-bit numbers arrive as decimal text and leave here as bigint. */
import { ClusterClient, type IKeyValue, KVClient, LeaseClient, MaintenanceClient } from 'etcd3';
import { type CallLimits, CallPool } from './call-pool.js';
import type { EtcdConnection } from './connection.js';

export interface EndpointStatus {
  readonly endpoint: string;
  readonly revision: bigint;
  readonly version: string;
  readonly dbSizeBytes: number;
  readonly clusterId: bigint;
  readonly memberId: bigint;
  /** 0 while there is no leader. */
  readonly leaderId: bigint;
  readonly raftTerm: bigint;
  readonly raftIndex: bigint;
}

/** As stored: what a backup compares byte for byte. */
export interface StoredKey {
  readonly key: Buffer;
  readonly value: Buffer;
  readonly createRevision: bigint;
  readonly modRevision: bigint;
  readonly version: bigint;
  /** 0 without a lease. */
  readonly lease: bigint;
}

export interface KvHash {
  readonly hash: number;
  /** The revision that was asked for, or the current one when that was 0. */
  readonly revision: bigint;
  /** Hashes of two stores compare only when this is equal; -1 when never compacted. */
  readonly compactRevision: bigint;
}

export interface Member {
  readonly id: bigint;
  readonly name: string;
  readonly peerUrls: readonly string[];
  readonly clientUrls: readonly string[];
  readonly isLearner: boolean;
}

export interface Alarm {
  readonly memberId: bigint;
  readonly kind: string;
}

export interface CallOptions {
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal | undefined;
}

export class EtcdEndpoint {
  readonly endpoint: string;
  /** etcd3's own client for keys: range, put, deleteRange, txn, compact. */
  readonly kv: KVClient;
  readonly lease: LeaseClient;
  readonly maintenance: MaintenanceClient;
  readonly cluster: ClusterClient;
  readonly #pool: CallPool;

  private constructor(endpoint: string, pool: CallPool) {
    this.endpoint = endpoint;
    this.#pool = pool;
    this.kv = new KVClient(pool);
    this.lease = new LeaseClient(pool);
    this.maintenance = new MaintenanceClient(pool);
    this.cluster = new ClusterClient(pool);
  }

  static async open(connection: EtcdConnection, endpoint: string): Promise<EtcdEndpoint> {
    return new EtcdEndpoint(endpoint, await CallPool.open(connection, endpoint));
  }

  close(): void {
    this.#pool.close();
  }

  async status(options?: CallOptions): Promise<EndpointStatus> {
    const status = await this.maintenance.status(limits(options));
    return {
      endpoint: this.endpoint,
      revision: BigInt(status.header.revision),
      version: status.version,
      dbSizeBytes: Number(status.dbSize),
      clusterId: BigInt(status.header.cluster_id),
      memberId: BigInt(status.header.member_id),
      leaderId: BigInt(status.leader),
      raftTerm: BigInt(status.raftTerm),
      raftIndex: BigInt(status.raftIndex),
    };
  }

  /** The key as it was at `revision`; null when it did not exist then. COMPACTED when that is no longer known. */
  async getAt(key: Uint8Array, revision: bigint, options?: CallOptions): Promise<StoredKey | null> {
    const request = { key: Buffer.from(key), revision: String(revision), limit: 1 };
    const { kvs } = await this.kv.range(request, limits(options));
    const found = kvs[0];
    return found === undefined ? null : storedKey(found);
  }

  /** Throws COMPACTED when history before and including `revision` may be gone, that is when C > revision. */
  async assertReadable(revision: bigint, options?: CallOptions): Promise<void> {
    const request = { key: Buffer.from([0]), revision: String(revision), keys_only: true, count_only: true };
    await this.kv.range(request, limits(options));
  }

  /** The TTL that the lease was granted with; null when there is no such lease (any more). */
  async leaseGrantedTtlSeconds(id: bigint, options?: CallOptions): Promise<bigint | null> {
    const lease = await this.lease.leaseTimeToLive({ ID: String(id) }, limits(options));
    return BigInt(lease.TTL) === -1n ? null : BigInt(lease.grantedTTL);
  }

  /** Reads all keys on the server: give it time in proportion to the db. `revision` 0 is the current one. */
  async hashKv(revision: bigint, options?: CallOptions): Promise<KvHash> {
    const answer = await this.maintenance.hashKV({ revision: String(revision) }, limits(options));
    return {
      hash: Number(answer.hash),
      revision: revision === 0n ? BigInt(answer.header.revision) : revision,
      compactRevision: BigInt(answer.compact_revision),
    };
  }

  async memberList(options?: CallOptions): Promise<Member[]> {
    const { members } = await this.cluster.memberList({ linearizable: false }, limits(options));
    return members.map((member) => ({
      id: BigInt(member.ID),
      name: member.name,
      peerUrls: member.peerURLs,
      clientUrls: member.clientURLs,
      isLearner: member.isLearner,
    }));
  }

  async alarms(options?: CallOptions): Promise<Alarm[]> {
    const { alarms } = await this.maintenance.alarm({ action: 'Get' }, limits(options));
    return alarms.map((alarm) => ({ memberId: BigInt(alarm.memberID), kind: String(alarm.alarm) }));
  }
}

export function storedKey(kv: IKeyValue): StoredKey {
  return {
    key: kv.key,
    value: kv.value,
    createRevision: BigInt(kv.create_revision),
    modRevision: BigInt(kv.mod_revision),
    version: BigInt(kv.version),
    lease: BigInt(kv.lease),
  };
}

function limits(options: CallOptions = {}): CallLimits {
  return options;
}
