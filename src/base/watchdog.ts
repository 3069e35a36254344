/** Two limits on time: one on the whole of a job, and one on silence within it. */
import { type DerivedAbort, deriveAbort, MAX_TIMER_MS } from './abort.js';

/** How often within its limit a watchdog looks: a job is stopped at most this fraction late. */
const LOOKS_PER_LIMIT = 8;

export interface Limit {
  readonly ms: number;
  /** Builds what the job's signal is aborted with, and what its waits therefore reject with. */
  readonly reason: () => unknown;
  readonly signal?: AbortSignal | undefined;
}

/** Runs `job` with a signal that aborts after `ms`. The job must settle once its signal aborts. */
export async function withTimeout<T>(limit: Limit, job: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const derived = deriveAbort(limit.signal);
  const timer = startTimer(limit.ms, () => derived.abort(limit.reason()));
  try {
    return await job(derived.signal);
  } finally {
    clearInterval(timer);
    derived.dispose();
  }
}

export interface Watchdog extends Disposable {
  readonly signal: AbortSignal;
  /** To be called for each piece of progress; costs one clock reading. */
  progress(): void;
  dispose(): void;
}

/** Aborts its signal when `progress` has not been called for `ms`. It does not keep the process alive. */
export function startWatchdog(limit: Limit): Watchdog {
  const derived: DerivedAbort = deriveAbort(limit.signal);
  let lastMs = performance.now();
  const everyMs = Math.min(Math.max(limit.ms / LOOKS_PER_LIMIT, 1), MAX_TIMER_MS);
  const timer = setInterval(() => {
    if (performance.now() - lastMs < limit.ms) return;
    clearInterval(timer);
    derived.abort(limit.reason());
  }, everyMs);
  timer.unref();
  const dispose = (): void => {
    clearInterval(timer);
    derived.dispose();
  };
  return {
    signal: derived.signal,
    progress: () => {
      lastMs = performance.now();
    },
    dispose,
    [Symbol.dispose]: dispose,
  };
}

function startTimer(ms: number, fire: () => void): NodeJS.Timeout {
  const endAt = performance.now() + ms;
  const timer = setInterval(
    () => {
      if (performance.now() + 1 < endAt) return;
      clearInterval(timer);
      fire();
    },
    Math.min(Math.max(ms, 1), MAX_TIMER_MS),
  );
  return timer;
}
