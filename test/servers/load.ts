/**
 * A seeded write load with everything that a backup must carry: overwrites, single and prefix deletes, transactions,
 * nested put and delete of one key, binary keys, empty and large values, leases (one that expires), compactions.
 */
import type { IPutRequest, IRequestOp } from 'etcd3';
import type { EtcdEndpoint } from '../../src/etcd/endpoint.js';
import { Random } from './random.js';

export interface LoadOptions {
  readonly seed: number;
  /** Keys are `<prefix>0000` and on. */
  readonly prefix?: string;
  readonly keys?: number;
  readonly bigValues?: boolean;
  readonly leases?: boolean;
  /** Compacts to this many revisions behind the current one, now and then; 0 for never. */
  readonly compactBehind?: number;
}

const BIG_VALUE_BYTES = 300_000;
const LEASE_TTL_SECONDS = 3600;
/** etcd raises shorter TTLs to its minimum of about 2 s. */
const EXPIRING_TTL_SECONDS = 1;

export class Load {
  /** The last revision that a write of this load was given. */
  revision = 0n;
  readonly #etcd: EtcdEndpoint;
  readonly #random: Random;
  readonly #options: LoadOptions;
  readonly #leases: string[] = [];

  constructor(etcd: EtcdEndpoint, options: LoadOptions) {
    this.#etcd = etcd;
    this.#options = options;
    this.#random = new Random(options.seed);
  }

  /** Makes `steps` writes one after another; most are one revision, a few none or two. */
  async run(steps: number, signal?: AbortSignal): Promise<void> {
    for (let step = 0; step < steps && signal?.aborted !== true; step++) await this.step();
  }

  async step(): Promise<void> {
    const dice = this.#random.int(100);
    if (dice < 45) return this.#put(this.#key(), this.#value());
    if (dice < 55) return this.#txn(this.#differentKeys(2 + this.#random.int(18)));
    if (dice < 65) return this.#delete(this.#key());
    if (dice < 68) return this.#deletePrefix();
    if (dice < 73) return this.#putThenDelete();
    if (dice < 78)
      return this.#put(Buffer.concat([this.#prefix('bin/'), this.#random.bytes(9)]), this.#value());
    if (dice < 82) return this.#put(this.#key(), Buffer.alloc(0));
    if (dice < 94) return this.#options.leases === false ? this.step() : this.#leased(dice);
    if (dice < 97) return this.#big();
    return this.#compact();
  }

  /** A lease of the shortest TTL with one key: etcd will delete that key by itself. */
  async putExpiring(name: string): Promise<void> {
    const { ID } = await this.#etcd.lease.leaseGrant({ TTL: EXPIRING_TTL_SECONDS });
    await this.#put(this.#prefix(name), Buffer.from('expires'), ID);
  }

  async #put(key: Buffer, value: Buffer, lease = '0'): Promise<void> {
    this.#note(await this.#etcd.kv.put({ key, value, lease }));
  }

  async #delete(key: Buffer): Promise<void> {
    this.#note(await this.#etcd.kv.deleteRange({ key }));
  }

  /** Ten keys at once, if they are there. */
  async #deletePrefix(): Promise<void> {
    const key = this.#key().subarray(0, -1);
    const end = Buffer.from(key);
    end.writeUInt8(end.readUInt8(end.length - 1) + 1, end.length - 1);
    this.#note(await this.#etcd.kv.deleteRange({ key, range_end: end }));
  }

  /** Puts and deletes of different keys, every third of them in a nested transaction. */
  async #txn(keys: readonly Buffer[]): Promise<void> {
    const success = keys.map((key, at): IRequestOp => {
      const op = this.#random.int(4) === 0 ? { request_delete_range: { key } } : putOp(key, this.#value());
      return at % 3 === 2 ? { request_txn: { compare: [], success: [op], failure: [] } } : op;
    });
    this.#note(await this.#etcd.kv.txn({ compare: [], success, failure: [] }));
  }

  /** etcd takes one key twice in a revision only from sibling nested transactions. */
  async #putThenDelete(): Promise<void> {
    const key = this.#key();
    const nested = [putOp(key, this.#value()), { request_delete_range: { key } }].map(
      (op): IRequestOp => ({
        request_txn: { compare: [], success: [op], failure: [] },
      }),
    );
    this.#note(await this.#etcd.kv.txn({ compare: [], success: nested, failure: [] }));
  }

  async #leased(dice: number): Promise<void> {
    if (dice < 84 || this.#leases.length === 0) {
      const { ID } = await this.#etcd.lease.leaseGrant({ TTL: LEASE_TTL_SECONDS + this.#random.int(100) });
      this.#leases.push(ID);
    }
    if (dice === 93) {
      const [gone] = this.#leases.splice(this.#random.int(this.#leases.length), 1);
      this.#note(await this.#etcd.lease.leaseRevoke({ ID: gone as string }));
      return;
    }
    await this.#put(this.#key(), this.#value(), this.#random.pick(this.#leases));
  }

  async #big(): Promise<void> {
    if (this.#options.bigValues === false) return this.step();
    await this.#put(this.#key(), this.#random.bytes(BIG_VALUE_BYTES));
  }

  async #compact(): Promise<void> {
    const behind = BigInt(this.#options.compactBehind ?? 0);
    if (behind === 0n || this.revision <= behind) return this.step();
    try {
      await this.#etcd.kv.compact({ revision: String(this.revision - behind), physical: true });
    } catch (error) {
      if (!/compacted/.test(String(error))) throw error; // compacted to there already
    }
  }

  #note(answer: { header: { revision: string } }): void {
    this.revision = BigInt(answer.header.revision);
  }

  #prefix(name: string): Buffer {
    return Buffer.from(`${this.#options.prefix ?? '/load/'}${name}`);
  }

  #key(): Buffer {
    return this.#prefix(String(this.#random.int(this.#options.keys ?? 500)).padStart(4, '0'));
  }

  #differentKeys(count: number): Buffer[] {
    const keys = new Map<string, Buffer>();
    while (keys.size < count) {
      const key = this.#key();
      keys.set(key.toString('latin1'), key);
    }
    return [...keys.values()];
  }

  #value(): Buffer {
    return this.#random.bytes(20 + this.#random.int(200));
  }
}

function putOp(key: Buffer, value: Buffer): { request_put: IPutRequest } {
  return { request_put: { key, value } };
}
