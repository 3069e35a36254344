/** One object into one new file. Repeating and resuming is the store's business (`src/store/retry.ts`). */
import { createWriteStream } from 'node:fs';
import { rm } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { BackupError } from '../errors.js';
import type { Store } from '../store/store.js';

export interface DownloadOptions {
  readonly signal?: AbortSignal | undefined;
  readonly onProgress?: ((bytes: number) => void) | undefined;
}

/** Returns the bytes written; TRUNCATED when they are not as many as listed. The file is removed on failure. */
export async function download(
  store: Store,
  object: { readonly key: string; readonly bytes: number },
  path: string,
  { signal, onProgress }: DownloadOptions = {},
): Promise<number> {
  let written = 0;
  async function* counted(chunks: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array> {
    for await (const chunk of chunks) {
      yield chunk;
      written += chunk.byteLength;
      onProgress?.(written);
    }
  }
  try {
    const source = Readable.from(counted(store.get(object.key, { signal })), {
      objectMode: true,
      highWaterMark: 1,
    });
    await pipeline(source, createWriteStream(path, { flags: 'wx', mode: 0o600 }));
    if (written !== object.bytes) {
      throw new BackupError('TRUNCATED', `gave ${written} bytes, ${object.bytes} are listed`, {
        op: 'fetch',
        object: object.key,
        hint: 'list again: it may have been deleted and written meanwhile',
      });
    }
    return written;
  } catch (error) {
    await rm(path, { force: true });
    throw error;
  }
}
