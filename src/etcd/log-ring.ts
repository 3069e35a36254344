/** The last lines that a child process wrote, for error messages. */
import type { Readable } from 'node:stream';

const MAX_LINES = 40;
const MAX_LINE_CHARS = 1_000;

export class LogRing {
  readonly #lines: string[] = [];
  #open = '';

  /** Reads the stream to its end. */
  take(stream: Readable | null): void {
    stream?.setEncoding('utf8');
    stream?.on('data', (text: string) => this.add(text));
    stream?.on('error', () => undefined);
  }

  add(text: string): void {
    const lines = (this.#open + text).split('\n');
    this.#open = (lines.pop() ?? '').slice(0, MAX_LINE_CHARS);
    for (const line of lines) if (line.trim() !== '') this.#lines.push(line.slice(0, MAX_LINE_CHARS));
    this.#lines.splice(0, this.#lines.length - MAX_LINES);
  }

  tail(lines = 10): string {
    return [...this.#lines, ...(this.#open === '' ? [] : [this.#open])].slice(-lines).join('\n');
  }
}
