/** What a key may look like, how keys are ordered, and what "below a prefix" means: the same for every provider. */
import { BackupError } from '../errors.js';

/** The smallest of the providers' limits (S3), so that a set can be copied anywhere. */
export const MAX_KEY_BYTES = 1024;
/** The limit of a file name on every Linux file system in use. */
export const MAX_ELEMENT_BYTES = 255;

/** Refuses a key that could name something outside the store, or that some provider could not hold. */
export function checkKey(op: string, key: string): void {
  const fault = keyFault(key);
  if (fault !== undefined) throw refused(op, 'key', key, fault);
}

/** As `checkKey`; the empty prefix is the whole store. */
export function checkPrefix(op: string, prefix: string): void {
  const fault = prefix === '' ? undefined : keyFault(prefix);
  if (fault !== undefined) throw refused(op, 'prefix', prefix, fault);
}

/** Why this cannot be a key, or undefined. Listings use it to pass over names that others put there. */
export function keyFault(key: string): string | undefined {
  if (key === '') return 'it is empty';
  if (/\p{Surrogate}|\0/u.test(key)) return 'it holds a NUL byte or half a character';
  if (Buffer.byteLength(key) > MAX_KEY_BYTES) return `it is longer than ${MAX_KEY_BYTES} bytes`;
  for (const element of key.split('/')) {
    if (element === '') return 'it begins or ends with "/" or holds "//"';
    if (element === '.' || element === '..') return `it holds the element "${element}"`;
    if (element.startsWith('.')) return 'an element begins with ".", which is kept for unfinished files';
    if (Buffer.byteLength(element) > MAX_ELEMENT_BYTES)
      return `an element is longer than ${MAX_ELEMENT_BYTES} bytes`;
  }
  return undefined;
}

/** Whole path elements: "a/b" holds "a/b/c", neither "a/bc" nor "a/b" itself. */
export function isBelow(key: string, prefix: string): boolean {
  return prefix === '' || (key.startsWith(prefix) && key[prefix.length] === '/');
}

/** The order of the keys' UTF-8 bytes, which is not that of JavaScript's strings once there are surrogates. */
export function compareKeys(a: string, b: string): number {
  if (a === b) return 0;
  const length = Math.min(a.length, b.length);
  for (let at = 0; at < length; at++) {
    const left = a.charCodeAt(at);
    const right = b.charCodeAt(at);
    if (left !== right) return byteRank(left) - byteRank(right);
  }
  return a.length - b.length;
}

/** Sorts in place. Without surrogates the engine's own order is that of the bytes, and several times as fast. */
export function sortKeys(keys: string[]): string[] {
  const plain = keys.every((key) => !/[\uD800-\uFFFF]/.test(key));
  return plain ? keys.sort() : keys.sort(compareKeys);
}

/** UTF-16 puts surrogates (code points from 0x10000) below 0xE000-0xFFFF; UTF-8 puts them above. */
function byteRank(unit: number): number {
  if (unit < 0xd800) return unit;
  return unit < 0xe000 ? unit + 0x2000 : unit - 0x800;
}

function refused(op: string, what: string, given: string, fault: string): BackupError {
  return new BackupError('USAGE', `not a ${what} of an object store: ${fault}`, {
    op,
    object: JSON.stringify(given.slice(0, MAX_KEY_BYTES)),
    hint: 'use path elements joined by "/", none of them empty or beginning with "."',
  });
}
