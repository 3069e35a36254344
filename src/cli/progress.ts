/** One bar on a terminal (bytes, events, rate, ETA); a log line now and then elsewhere. */
import type { Options, SingleBar } from 'cli-progress';
import { formatBytes, formatRate } from '../base/bytes.js';
import type { Logger } from './log.js';

/** One stage of a job. Counts never decrease; `total` is undefined where nobody knows it. */
export interface Progress {
  update(stage: string, done: number, total: number | undefined, unit: 'bytes' | 'events' | 'pages'): void;
  /** Other lines come now: makes room for them on a terminal. What is shown is shown again with the next update. */
  clear(): void;
  end(): void;
}

const LOG_INTERVAL_MS = 10_000;
const ERASE_LINE = '\r\x1b[K';

export async function createProgress(log: Logger): Promise<Progress> {
  if (!process.stderr.isTTY) return new LoggedProgress(log);
  const { SingleBar } = (await import('cli-progress')).default;
  return new TerminalProgress((options) => new SingleBar(options));
}

class TerminalProgress implements Progress {
  readonly #makeBar: (options: Options) => SingleBar;
  #bar: SingleBar | undefined;
  #stage = '';
  #startMs = 0;

  constructor(makeBar: (options: Options) => SingleBar) {
    this.#makeBar = makeBar;
  }

  update(stage: string, done: number, total: number | undefined, unit: 'bytes' | 'events' | 'pages'): void {
    if (stage !== this.#stage) this.#begin(stage);
    const rate = describeRate(done, Date.now() - this.#startMs, unit);
    const amount = unit === 'bytes' ? formatBytes(done) : `${done} ${unit}`;
    this.#bar?.setTotal(Math.max(total ?? done, done));
    this.#bar?.update(done, { amount, rate });
  }

  clear(): void {
    if (this.#bar !== undefined) process.stderr.write(ERASE_LINE);
  }

  end(): void {
    this.#bar?.stop();
    this.#bar = undefined;
    this.#stage = '';
  }

  #begin(stage: string): void {
    this.end();
    this.#stage = stage;
    this.#startMs = Date.now();
    this.#bar = this.#makeBar({
      format: `${stage.padEnd(24)} {bar} {percentage}%  {amount}  {rate}  ETA {eta_formatted}`,
      stream: process.stderr,
      hideCursor: true,
      barsize: 24,
    });
    this.#bar.start(1, 0, { amount: '', rate: '' });
  }
}

class LoggedProgress implements Progress {
  #stage = '';
  #startMs = 0;
  #lastMs = 0;

  constructor(private readonly log: Logger) {}

  update(stage: string, done: number, total: number | undefined, unit: 'bytes' | 'events' | 'pages'): void {
    const now = Date.now();
    if (stage !== this.#stage) {
      this.#stage = stage;
      this.#startMs = now;
      this.#lastMs = now;
    }
    if (now - this.#lastMs < LOG_INTERVAL_MS) return;
    this.#lastMs = now;
    const percent = total ? Math.floor((done / total) * 100) : undefined;
    this.log.info(
      { stage, done, total, unit, percent, rate: describeRate(done, now - this.#startMs, unit) },
      'progress',
    );
  }

  clear(): void {
    // Its lines are whole.
  }

  end(): void {
    this.#stage = '';
  }
}

function describeRate(done: number, elapsedMs: number, unit: string): string {
  if (unit === 'bytes') return formatRate(done, elapsedMs);
  return elapsedMs > 0 ? `${Math.round((done / elapsedMs) * 1000)} ${unit}/s` : '';
}
