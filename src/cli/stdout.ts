/**
 * Results of any length on stdout: no faster than they are taken, and not at all once nobody reads them any more
 * (`etcdbr get --prefix / | head`), which is no failure.
 */
import { once } from 'node:events';
import type { Writable } from 'node:stream';

/** Small pieces are gathered up to here. */
const GATHERED_BYTES = 64 * 1024;

export class Stdout {
  readonly isTerminal: boolean;
  readonly #stream: Writable;
  #pieces: Buffer[] = [];
  #bytes = 0;
  #isGone = false;

  constructor(stream: Writable & { readonly isTTY?: boolean } = process.stdout) {
    this.#stream = stream;
    this.isTerminal = stream.isTTY === true;
    // Both come when a reader goes away; which one first depends on the kind of stream.
    stream.once('error', () => this.#leave()).once('close', () => this.#leave());
  }

  /** False once nobody reads any more: the caller stops then. */
  async write(piece: string | Buffer): Promise<boolean> {
    const bytes = typeof piece === 'string' ? Buffer.from(piece) : piece;
    this.#pieces.push(bytes);
    this.#bytes += bytes.length;
    return this.#bytes < GATHERED_BYTES ? !this.#isGone : this.flush();
  }

  async flush(): Promise<boolean> {
    const gathered = Buffer.concat(this.#pieces);
    this.#pieces = [];
    this.#bytes = 0;
    if (this.#isGone || gathered.length === 0) return !this.#isGone;
    if (this.#stream.write(gathered)) return true;
    const waiting = new AbortController();
    const { signal } = waiting;
    const ended = ['drain', 'close', 'error'].map((name) => once(this.#stream, name, { signal }));
    await Promise.race(ended.map((one) => one.catch(() => undefined)));
    waiting.abort();
    return !this.#isGone;
  }

  #leave(): void {
    this.#isGone = true;
  }
}
