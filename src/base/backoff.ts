/** Waits between tries: they grow up to a bound, and are spread so that many clients do not come back at once. */

export interface BackoffOptions {
  readonly firstMs: number;
  readonly factor: number;
  readonly maxMs: number;
  /** Share of each wait that is left to chance: 0 is exact, 0.5 waits between half and all of it. */
  readonly jitter: number;
}

export class Backoff {
  readonly #options: BackoffOptions;
  readonly #random: () => number;
  #tries = 0;

  constructor(options: BackoffOptions, random: () => number = Math.random) {
    this.#options = options;
    this.#random = random;
  }

  /** How many waits were handed out since the last success. */
  get tries(): number {
    return this.#tries;
  }

  /** The next wait in milliseconds. */
  next(): number {
    const waitMs = backoffMs(this.#tries, this.#options, this.#random);
    this.#tries += 1;
    return waitMs;
  }

  /** To be called after a success. */
  reset(): void {
    this.#tries = 0;
  }
}

/** The wait before try `attempt` (0 is the first one that is repeated). */
export function backoffMs(
  attempt: number,
  options: BackoffOptions,
  random: () => number = Math.random,
): number {
  // The power overflows to Infinity for large attempts, which the bound then takes care of.
  const fullMs = Math.min(options.firstMs * options.factor ** attempt, options.maxMs);
  return fullMs * (1 - options.jitter * random());
}
