/**
 * Many transactions in flight on one connection, applied in exactly one order. gRPC servers handle calls
 * concurrently, so a request may overtake another; each therefore carries a compare that holds only right behind its
 * predecessor (crates/delta, replay/guard.rs). One that comes too early changes nothing and answers `succeeded:
 * false`; then nothing more is sent, what is in flight is awaited, and sending begins again at the first that failed.
 */
import { BackupError } from '../errors.js';
import type { TxnOutcome } from '../etcd/proto.js';
import type { ReplayBatch } from '../native/index.js';

/** Transactions in flight. More are overtaken too often, fewer wait too much (see bench/README.md). */
export const WINDOW_TXNS = 48;
/** Bytes in flight; a larger transaction goes alone. */
export const WINDOW_BYTES = 4 * 1024 * 1024;

export type SendTxn = (request: Buffer) => Promise<TxnOutcome>;

export class GuardedPipeline {
  readonly #send: SendTxn;
  #repeated = 0;

  constructor(send: SendTxn) {
    this.#send = send;
  }

  /** Requests that were sent again. */
  get repeated(): number {
    return this.#repeated;
  }

  /** Resolves when etcd has applied the whole batch, each request at its own revision. */
  async apply(batch: ReplayBatch): Promise<void> {
    const requests = batch.ends.length;
    for (let at = 0; at < requests; ) at = await this.#burst(batch, at);
  }

  /** Sends from `from` on until one fails or a barrier is in the way; returns the first that is not applied. */
  async #burst(batch: ReplayBatch, from: number): Promise<number> {
    const end = nextBarrier(batch, from + 1);
    const burst = new Burst(batch, from, end, this.#send);
    const applied = await burst.run();
    this.#repeated += burst.sent - (applied - from);
    if (applied === from) throw stuck(batch, from);
    return applied;
  }
}

/** One uninterrupted stretch of sending. */
class Burst {
  readonly #batch: ReplayBatch;
  readonly #end: number;
  readonly #from: number;
  readonly #sendTxn: SendTxn;
  #next: number;
  #inFlight = 0;
  #bytesInFlight = 0;
  /** Lowest request that failed, and highest that was applied. */
  #failed = Number.POSITIVE_INFINITY;
  #applied: number;
  #error: unknown;

  constructor(batch: ReplayBatch, from: number, end: number, send: SendTxn) {
    this.#batch = batch;
    this.#from = from;
    this.#next = from;
    this.#applied = from - 1;
    this.#end = end;
    this.#sendTxn = send;
  }

  get sent(): number {
    return this.#next - this.#from;
  }

  run(): Promise<number> {
    return new Promise((resolve, reject) => {
      const settle = () => {
        this.#fill(settle);
        if (this.#inFlight > 0) return;
        if (this.#error !== undefined) reject(this.#error);
        else if (this.#applied > this.#failed) reject(disorder(this.#batch, this.#failed));
        else resolve(Math.min(this.#failed, this.#end));
      };
      settle();
    });
  }

  #fill(settle: () => void): void {
    while (this.#mayGoOn()) {
      const index = this.#next++;
      const request = requestAt(this.#batch, index);
      this.#inFlight += 1;
      this.#bytesInFlight += request.byteLength;
      const done = () => {
        this.#inFlight -= 1;
        this.#bytesInFlight -= request.byteLength;
        settle();
      };
      this.#sendTxn(request)
        .then((outcome) => this.#take(index, outcome))
        .catch((error) => {
          this.#error ??= error;
        })
        .then(done);
    }
  }

  #mayGoOn(): boolean {
    if (this.#next >= this.#end || this.#failed !== Number.POSITIVE_INFINITY || this.#error !== undefined)
      return false;
    if (this.#inFlight === 0) return true;
    const bytes = this.#bytesInFlight + requestAt(this.#batch, this.#next).byteLength;
    return this.#inFlight < WINDOW_TXNS && bytes <= WINDOW_BYTES;
  }

  #take(index: number, { succeeded, revision }: TxnOutcome): void {
    if (!succeeded) {
      this.#failed = Math.min(this.#failed, index);
      return;
    }
    const expected = this.#batch.firstRevision + BigInt(index);
    if (revision !== expected) {
      throw new BackupError(
        'MISMATCH',
        `revision ${expected} became revision ${revision} in the replaying etcd`,
        {
          op: 'replay',
          hint: 'something else wrote to it; please report it',
        },
      );
    }
    this.#applied = Math.max(this.#applied, index);
  }
}

function requestAt({ bytes, ends }: ReplayBatch, index: number): Buffer {
  return bytes.subarray(index === 0 ? 0 : ends[index - 1], ends[index]);
}

function nextBarrier({ barriers }: ReplayBatch, from: number): number {
  const found = barriers.indexOf(1, from);
  return found === -1 ? barriers.length : found;
}

/** All before it is applied, so its compare should hold. */
function stuck(batch: ReplayBatch, index: number): BackupError {
  const revision = batch.firstRevision + BigInt(index);
  const what = `revision ${revision} does not follow the state at revision ${revision - 1n}`;
  return new BackupError('MISMATCH', what, { op: 'replay', hint: 'base and deltas are not of one history' });
}

function disorder(batch: ReplayBatch, index: number): BackupError {
  const revision = batch.firstRevision + BigInt(index);
  return new BackupError('MISMATCH', `a later revision was applied before revision ${revision}`, {
    op: 'replay',
  });
}
