/** Keys as `etcdctl get -w json` prints them: base64, 64-bit numbers as numbers, what is zero left out. */
import type { LookVersion } from '../native/index.js';

export function keyValueJson(key: Buffer, version: LookVersion): string {
  const { createRevision, modRevision, version: count, lease, value } = version;
  return object([
    ['key', base64(key)],
    ['create_revision', number(createRevision)],
    ['mod_revision', number(modRevision)],
    ['version', number(count)],
    ['value', base64(value)],
    ['lease', number(lease)],
  ]);
}

/** Fields without a text are left out. */
export function object(fields: readonly (readonly [string, string])[]): string {
  const told = fields.filter(([, text]) => text !== '');
  return `{${told.map(([name, text]) => `"${name}":${text}`).join(',')}}`;
}

export function base64(bytes: Buffer): string {
  return bytes.length === 0 ? '' : `"${bytes.toString('base64')}"`;
}

export function number(value: bigint): string {
  return value === 0n ? '' : value.toString();
}
