/** The highest revision that a timeline had reached before a given second. */
export class Watermark {
  readonly #secs: number[] = [];
  readonly #highest: bigint[] = [];

  /** In the order of their times. */
  add(secs: number, revision: bigint): void {
    const reached = this.#highest.at(-1);
    if (reached !== undefined && reached >= revision) return;
    this.#secs.push(secs);
    this.#highest.push(revision);
  }

  /** Undefined when nothing is from before then. */
  before(secs: number): bigint | undefined {
    let low = 0;
    let high = this.#secs.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#secs[middle] ?? 0) < secs) low = middle + 1;
      else high = middle;
    }
    return this.#highest[low - 1];
  }
}
