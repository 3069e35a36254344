/** A small set of the Go tool's, copied so that a test may damage it. */
import { cp, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fixture } from './request.js';

export const SMALL_SET = 'gardener-plain-etcd3.4';
export const SMALL_SET_REVISION = 2981n;

/** Returns its container, and the names in it: the full first, then deltas in order. */
export async function copySmallSet(to: string): Promise<{ container: string; names: string[] }> {
  await cp(fixture(`${SMALL_SET}/store`), to, { recursive: true });
  return { container: to, names: (await readdir(join(to, 'v2'))).sort() };
}

/** Turns one bit over. */
export async function flipBit(path: string, at: number): Promise<void> {
  const bytes = await readFile(path);
  bytes.writeUInt8(bytes.readUInt8(at) ^ 1, at);
  await writeFile(path, bytes);
}
