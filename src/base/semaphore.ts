/**
 * A weighted semaphore: of slots (weight 1) or of bytes. First come, first served, also for heavy ones, so nobody
 * starves. A request above the whole capacity is let in alone: it could never be served otherwise.
 */
import { onAbort } from './abort.js';

export type Release = () => void;

interface Waiter {
  readonly weight: number;
  readonly admit: () => void;
}

export class Semaphore {
  readonly capacity: number;
  #used = 0;
  readonly #waiting = new Set<Waiter>();

  constructor(capacity: number) {
    if (!(capacity > 0)) throw new RangeError(`semaphore: capacity ${capacity} is not above 0`);
    this.capacity = capacity;
  }

  get used(): number {
    return this.#used;
  }

  get waiting(): number {
    return this.#waiting.size;
  }

  /** Resolves with the (idempotent) way to give the weight back; rejects with the signal's reason. */
  acquire(weight = 1, options: { readonly signal?: AbortSignal | undefined } = {}): Promise<Release> {
    if (!(weight >= 0)) return Promise.reject(new RangeError(`semaphore: weight ${weight} is below 0`));
    if (options.signal?.aborted) return Promise.reject(options.signal.reason);
    const clamped = Math.min(weight, this.capacity);
    return new Promise((resolve, reject) => {
      let unhook = (): void => undefined;
      const waiter: Waiter = {
        weight: clamped,
        admit: () => {
          unhook();
          resolve(this.#take(clamped));
        },
      };
      this.#waiting.add(waiter);
      unhook = onAbort(options.signal, (reason) => {
        this.#waiting.delete(waiter);
        reject(reason);
        // A heavy waiter that leaves may have been all that held up lighter ones.
        this.#admitWaiting();
      });
      this.#admitWaiting();
    });
  }

  /** Runs `job` while holding the weight. */
  async run<T>(
    weight: number,
    job: () => Promise<T>,
    options: { readonly signal?: AbortSignal | undefined } = {},
  ): Promise<T> {
    const release = await this.acquire(weight, options);
    try {
      return await job();
    } finally {
      release();
    }
  }

  #take(weight: number): Release {
    this.#used += weight;
    let held = true;
    return () => {
      if (!held) return;
      held = false;
      this.#used -= weight;
      this.#admitWaiting();
    };
  }

  #admitWaiting(): void {
    for (const waiter of this.#waiting) {
      if (this.#used + waiter.weight > this.capacity) return;
      this.#waiting.delete(waiter);
      waiter.admit();
    }
  }
}
