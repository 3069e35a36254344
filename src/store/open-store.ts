/**
 * From the parsed configuration to a store that is ready for use. From the inside out: the provider; metering, which
 * sees every single try; the guard against silence; the limit, outside of it so that waiting for a slot is no
 * silence; repeating, outermost so that nobody holds a slot while waiting.
 */
import { LimitedStore } from './limit.js';
import { MeteredStore, type StoreSink } from './metered.js';
import { type StoreSettings, storeFactory } from './registry.js';
import { DEFAULT_RETRY, RetryingStore, type RetryOptions } from './retry.js';
import { DEFAULT_SILENCE_MS, StallGuardedStore } from './stall.js';
import type { Store } from './store.js';

/** Above the default of `--max-fetchers` (6), so that uploads and look-ups go on beside a full window of fetches. */
export const DEFAULT_OPERATIONS = 16;

export interface DecorationOptions {
  readonly sink?: StoreSink | undefined;
  readonly onRetry?: RetryOptions['onRetry'];
  readonly retry?: RetryOptions | undefined;
  readonly operations?: number | undefined;
  readonly silenceMs?: number | undefined;
}

export async function openStore(settings: StoreSettings, options: DecorationOptions = {}): Promise<Store> {
  return decorate(await storeFactory(settings.provider)(settings), options);
}

export function decorate(provider: Store, options: DecorationOptions = {}): Store {
  const metered = options.sink === undefined ? provider : new MeteredStore(provider, options.sink);
  const guarded = new StallGuardedStore(metered, { silenceMs: options.silenceMs ?? DEFAULT_SILENCE_MS });
  const limited = new LimitedStore(guarded, { operations: options.operations ?? DEFAULT_OPERATIONS });
  const retry = options.retry ?? DEFAULT_RETRY;
  return new RetryingStore(
    limited,
    options.onRetry === undefined ? retry : { ...retry, onRetry: options.onRetry },
  );
}
