/**
 * TTLs of the leases that events name. The watch does not carry grants, and a lease can be gone minutes later, so
 * they are asked for as soon as a lease is first seen, and kept for the delta's end.
 */
import type { LeaseGrant } from '../native/index.js';

/** What is asked of etcd here; `EtcdClient` is one. */
export interface LeaseReader {
  leaseGrantedTtlSeconds(
    id: bigint,
    options?: { readonly timeoutMs?: number; readonly signal?: AbortSignal | undefined },
  ): Promise<bigint | null>;
}

/** Questions under way at a time: a storm of new leases must not become one of requests. */
const MAX_ASKING = 4;
/** Ids that wait to be asked for. What finds no room is asked for at the delta's end. */
const MAX_WAITING = 65_536;
/** Answers that are remembered, since a lease is named by one delta after the other. */
const MAX_REMEMBERED = 262_144;
const ASK_TIMEOUT_MS = 5_000;

export class LeaseBook {
  readonly #reader: LeaseReader;
  readonly #signal: AbortSignal | undefined;
  readonly #waiting = new Set<bigint>();
  readonly #asking = new Map<bigint, Promise<void>>();
  /** Granted TTL; null for a lease that is gone. */
  readonly #known = new Map<bigint, bigint | null>();

  constructor(reader: LeaseReader, options: { readonly signal?: AbortSignal | undefined } = {}) {
    this.#reader = reader;
    this.#signal = options.signal;
  }

  /** Events name these leases. Does not wait. */
  note(ids: readonly bigint[]): void {
    for (const id of ids) {
      if (this.#waiting.size >= MAX_WAITING) break;
      if (!this.#known.has(id) && !this.#asking.has(id)) this.#waiting.add(id);
    }
    this.#askNext();
  }

  /**
   * The grants of these leases, as far as etcd could say within `timeoutMs`. Leases that are gone are left out: their
   * keys were deleted by events of their own.
   */
  async grants(
    ids: readonly bigint[],
    timeoutMs: number,
  ): Promise<{ grants: LeaseGrant[]; unknown: number }> {
    const deadlineMs = performance.now() + timeoutMs;
    const open = ids.filter((id) => !this.#known.has(id));
    for (let at = 0; at < open.length && performance.now() < deadlineMs; at += MAX_ASKING) {
      if (this.#signal?.aborted === true) break;
      await Promise.all(open.slice(at, at + MAX_ASKING).map((id) => this.#ask(id)));
    }
    const grants: LeaseGrant[] = [];
    let unknown = 0;
    for (const id of ids) {
      const ttlSeconds = this.#known.get(id);
      if (ttlSeconds === undefined) unknown += 1;
      else if (ttlSeconds !== null) grants.push({ id, ttlSeconds });
    }
    return { grants, unknown };
  }

  #askNext(): void {
    for (const id of this.#waiting) {
      if (this.#asking.size >= MAX_ASKING) return;
      this.#waiting.delete(id);
      void this.#ask(id).then(() => this.#askNext());
    }
  }

  /** Never rejects: what etcd did not answer is asked again at the delta's end. */
  async #ask(id: bigint): Promise<void> {
    const asking = this.#asking.get(id) ?? this.#answer(id).finally(() => this.#asking.delete(id));
    this.#asking.set(id, asking);
    await asking;
  }

  async #answer(id: bigint): Promise<void> {
    const options = { timeoutMs: ASK_TIMEOUT_MS, signal: this.#signal };
    try {
      const ttlSeconds = await this.#reader.leaseGrantedTtlSeconds(id, options);
      if (this.#known.size >= MAX_REMEMBERED) this.#forgetOldest();
      this.#known.set(id, ttlSeconds);
    } catch {
      // Unanswered is not gone.
    }
  }

  #forgetOldest(): void {
    for (const id of this.#known.keys()) {
      this.#known.delete(id);
      return;
    }
  }
}
