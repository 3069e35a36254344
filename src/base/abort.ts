/**
 * Waiting that can be cut short. A wait that is aborted rejects with `signal.reason`, unchanged: whoever aborts
 * puts the error there that the user should read. No listener outlives its wait, so one long-lived signal can
 * serve any number of them (`AbortSignal.any` keeps its sources alive on Node 20).
 */

/** Node fires a timer above 2^31-1 ms (24.8 days) at once; longer waits are cut into pieces of this length. */
export const MAX_TIMER_MS = 2 ** 31 - 1;

export interface DerivedAbort extends Disposable {
  readonly signal: AbortSignal;
  abort(reason: unknown): void;
  /** Unhooks from the parent. The derived signal keeps the state that it has. */
  dispose(): void;
}

/** A signal of one's own that follows `parent`; safe to hand to code that mutates what it is given (napi does). */
export function deriveAbort(parent?: AbortSignal): DerivedAbort {
  const controller = new AbortController();
  const unhook = onAbort(parent, (reason) => controller.abort(reason));
  return {
    signal: controller.signal,
    abort: (reason) => controller.abort(reason),
    dispose: unhook,
    [Symbol.dispose]: unhook,
  };
}

/** Calls `listener` once when `signal` aborts (at once if it already has); returns the way to unhook. */
export function onAbort(signal: AbortSignal | undefined, listener: (reason: unknown) => void): () => void {
  if (signal === undefined) return () => undefined;
  if (signal.aborted) {
    listener(signal.reason);
    return () => undefined;
  }
  const handler = (): void => listener(signal.reason);
  signal.addEventListener('abort', handler, { once: true });
  return () => signal.removeEventListener('abort', handler);
}

/** Resolves after `ms`, however long that is; rejects with the signal's reason. */
export async function sleep(
  ms: number,
  options: { readonly signal?: AbortSignal | undefined } = {},
): Promise<void> {
  const endAt = performance.now() + ms;
  for (;;) {
    options.signal?.throwIfAborted();
    const leftMs = endAt - performance.now();
    if (leftMs <= 0) return;
    await pause(Math.min(leftMs, MAX_TIMER_MS), options.signal);
  }
}

/**
 * The promise's outcome, or the signal's reason if that comes first. The loser goes on in the background; its
 * late failure is swallowed.
 */
export async function raceAbort<T>(promise: Promise<T>, signal?: AbortSignal): Promise<T> {
  if (signal === undefined) return promise;
  let unhook = (): void => undefined;
  const aborted = new Promise<never>((_, reject) => {
    unhook = onAbort(signal, reject);
  });
  try {
    return await Promise.race([promise, aborted]);
  } finally {
    unhook();
    promise.catch(() => undefined);
    aborted.catch(() => undefined);
  }
}

function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      unhook();
      resolve();
    }, ms);
    const unhook = onAbort(signal, (reason) => {
      clearTimeout(timer);
      reject(reason);
    });
  });
}
