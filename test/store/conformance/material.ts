/** Files and reads that the parts of the suite have in common. */
import { createHash } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { isBackupError } from '../../../src/errors.js';
import type { GetOptions, ListOptions, PutFileOptions, Store } from '../../../src/store/store.js';
import { Random } from '../../servers/random.js';
import type { Bench } from '../conformance.js';

export interface SourceFile {
  readonly path: string;
  readonly content: Buffer;
  readonly stated: Pick<PutFileOptions, 'bytes' | 'sha256'>;
}

let files = 0;

/** A file of that size whose bytes repeat no shorter than a megabyte, so that a swapped chunk shows. */
export async function sourceFile(bench: Bench, bytes: number, seed = 1): Promise<SourceFile> {
  const content = pattern(bytes, seed);
  files += 1;
  const path = `${bench.dir}/source-${files}`;
  await writeFile(path, content);
  return { path, content, stated: { bytes, sha256: sha256(content) } };
}

export function pattern(bytes: number, seed = 1): Buffer {
  const block = new Random(seed).bytes(Math.min(bytes, 1024 * 1024 + 13));
  const content = Buffer.alloc(bytes);
  for (let at = 0; at < bytes; at += block.length) block.copy(content, at);
  return content;
}

export function sha256(content: Uint8Array): string {
  return createHash('sha256').update(content).digest('hex');
}

/** A matcher that shows where megabytes differ takes many seconds even when they do not. */
export function same(got: Buffer, wanted: Buffer | undefined): boolean {
  return wanted !== undefined && got.equals(wanted);
}

export async function readAll(store: Store, key: string, options?: GetOptions): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of store.get(key, options)) {
    chunks.push(options?.reuseBuffer === true ? new Uint8Array(chunk) : chunk);
  }
  return Buffer.concat(chunks);
}

export async function keysOf(store: Store, prefix = '', options?: ListOptions): Promise<string[]> {
  const keys: string[] = [];
  for await (const object of store.list(prefix, options)) keys.push(object.key);
  return keys;
}

export async function put(store: Store, ...keys: string[]): Promise<void> {
  for (const key of keys) await store.putBytes(key, Buffer.from(`content of ${key}`));
}

/** The code that the promise was rejected with; fails on success and on foreign errors. */
export async function codeOf(promise: Promise<unknown>): Promise<string> {
  try {
    await promise;
  } catch (error) {
    if (isBackupError(error)) return error.code;
    throw error;
  }
  return 'no error';
}
