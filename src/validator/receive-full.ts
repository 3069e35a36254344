/** A full out of a store as the plain snapshot that it holds: unpacked and digested while it arrives. */
import { rm } from 'node:fs/promises';
import { BackupError } from '../errors.js';
import { type ReadCodec, type UnpackedFull, UnpackSink } from '../native/index.js';
import type { StoredSnapshot } from '../snapshot/plan.js';
import type { Store } from '../store/store.js';

export interface ReceiveOptions {
  readonly signal?: AbortSignal | undefined;
  /** Bytes of the object so far. */
  readonly onProgress?: ((bytes: number) => void) | undefined;
}

/** A packed snapshot never unpacks to more than etcd could ever hold. */
export const MAX_PLAIN_BYTES = 1024 ** 4;

/** `target` must not exist; it is removed on failure. */
export async function receiveFull(
  store: Store,
  object: StoredSnapshot,
  target: string,
  { signal, onProgress }: ReceiveOptions = {},
): Promise<UnpackedFull> {
  const { key, bytes } = object;
  const sink = new UnpackSink(object.name.text, {
    target,
    codec: codecOf(object),
    maxBytes: MAX_PLAIN_BYTES,
  });
  try {
    let received = 0;
    for await (const piece of store.get(key, { signal, reuseBuffer: true })) {
      received += piece.byteLength;
      const flow = sink.push(piece);
      if (flow === 'stop') break;
      if (flow === 'pause') await sink.drained();
      onProgress?.(received);
    }
    const unpacked = await sink.finish({ signal });
    if (received === bytes) return unpacked;
    throw new BackupError('TRUNCATED', `gave ${received} bytes, ${bytes} are listed`, {
      op: 'fetch',
      object: key,
      hint: 'list again: it may have been deleted and written meanwhile',
    });
  } catch (error) {
    await sink.abort();
    await rm(target, { force: true });
    throw error;
  }
}

export function codecOf({ name }: Pick<StoredSnapshot, 'name'>): ReadCodec {
  return name.codec === 'ebd' ? 'none' : name.codec;
}
