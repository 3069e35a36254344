/** Jobs side by side, as one. */
import { setMaxListeners } from 'node:events';
import { deriveAbort } from './abort.js';

type Jobs<T extends readonly unknown[]> = { readonly [K in keyof T]: (signal: AbortSignal) => Promise<T[K]> };

/** The first that fails stops the others; its error comes out once all of them have ended. */
export async function together<T extends readonly unknown[]>(
  signal: AbortSignal | undefined,
  jobs: Jobs<T>,
): Promise<T> {
  const derived = deriveAbort(signal);
  setMaxListeners(0, derived.signal);
  let failed: { readonly error: unknown } | undefined;
  const run = async (job: (signal: AbortSignal) => Promise<unknown>) => {
    try {
      return await job(derived.signal);
    } catch (error) {
      failed ??= { error };
      derived.abort(error);
      return undefined;
    }
  };
  try {
    const results = await Promise.all(jobs.map(run));
    if (failed !== undefined) throw failed.error;
    return results as unknown as T;
  } finally {
    derived.dispose();
  }
}
