/** Small objects as a whole (manifests): bounded, since what lies in a store may be anything. */
import { BackupError } from '../errors.js';
import type { Store, StoreOptions } from './store.js';

export interface ReadOptions extends StoreOptions {
  readonly maxBytes: number;
}

/** All bytes of the object; CORRUPT when there are more than `maxBytes`. */
export async function readSmall(store: Store, key: string, options: ReadOptions): Promise<Uint8Array> {
  const { maxBytes, signal } = options;
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of store.get(key, { signal, range: { offset: 0, bytes: maxBytes + 1 } })) {
    bytes += chunk.length;
    chunks.push(chunk);
  }
  if (bytes <= maxBytes) return Buffer.concat(chunks, bytes);
  throw new BackupError('CORRUPT', `it is larger than ${maxBytes} bytes, the most that is expected here`, {
    op: 'store get',
    object: key,
    hint: 'look at what wrote it; it is not one of our small objects',
  });
}
