/** Checks of arguments that every provider makes alike. */
import { createHash } from 'node:crypto';
import { BackupError } from '../errors.js';
import { type ByteRange, MAX_PUT_BYTES, type PutFileOptions } from './store.js';

/** First byte and the one behind the last, cut to the object. */
export function rangeWithin(bytes: number, range: ByteRange | undefined): { start: number; end: number } {
  const offset = range?.offset ?? 0;
  const start = Math.min(offset, bytes);
  return { start, end: Math.min(bytes, offset + (range?.bytes ?? bytes)) };
}

export function checkRange(object: string, range: ByteRange | undefined): void {
  if (range === undefined) return;
  for (const value of [range.offset, range.bytes ?? 0]) {
    if (Number.isSafeInteger(value) && value >= 0) continue;
    throw wrongCall(
      'store get',
      object,
      `a range of ${range.bytes} bytes from ${range.offset} does not exist`,
    );
  }
}

export function checkPutFile(object: string, options: PutFileOptions): void {
  if (!/^[0-9a-f]{64}$/.test(options.sha256)) {
    throw wrongCall('store put', object, `"${options.sha256}" is not a sha256 in lower case hex`);
  }
  if (!Number.isSafeInteger(options.bytes) || options.bytes < 0) {
    throw wrongCall('store put', object, `${options.bytes} is not a size`);
  }
}

export function checkPutBytes(object: string, content: Uint8Array): void {
  if (content.length <= MAX_PUT_BYTES) return;
  const what = `${content.length} bytes are too many for a put from memory (at most ${MAX_PUT_BYTES})`;
  throw wrongCall('store put', object, what);
}

export function sha256Of(content: Uint8Array): string {
  return createHash('sha256').update(content).digest('hex');
}

/** A mistake in this program, not of its user. */
function wrongCall(op: string, object: string, what: string): BackupError {
  return new BackupError('INTERNAL', what, { op, object, hint: 'please report this' });
}
