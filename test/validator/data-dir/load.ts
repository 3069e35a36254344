/** Writes of which some make no revision, many at a time, until told to stop. */
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { EtcdEndpoint } from '../../../src/etcd/endpoint.js';
import { tempDir } from '../../servers/process.js';

const AT_A_TIME = 16;

/** Rejections after a kill are what a client sees then. */
export async function writeUntil(etcd: EtcdEndpoint, signal: AbortSignal): Promise<void> {
  let number = 0;
  const worker = async () => {
    while (!signal.aborted) await write(etcd, number++).catch(() => undefined);
  };
  await Promise.all(Array.from({ length: AT_A_TIME }, worker));
}

export async function write(etcd: EtcdEndpoint, number: number): Promise<void> {
  const key = Buffer.from(`/load/${number % 500}`);
  const put = { request_put: { key, value: Buffer.alloc(100 + (number % 1000), 1 + (number % 255)) } };
  switch (number % 5) {
    case 0:
      await etcd.kv.deleteRange({ key: Buffer.from('/load/no such key') });
      break;
    case 1:
      // Fails its compare, and writes nothing then.
      await etcd.kv.txn({
        compare: [{ key, target: 'Version', result: 'Equal', version: '123456789' }],
        success: [put],
        failure: [{ request_range: { key } }],
      });
      break;
    case 2:
      await etcd.kv.txn({
        compare: [],
        success: [put, { request_put: { key: Buffer.from('/b'), value: key } }],
        failure: [],
      });
      break;
    default:
      await etcd.kv.put({ key, value: Buffer.from(`value ${number}`) });
  }
}

/** A store that says to hold that revision; only names count where a data directory is compared. */
export async function storeAt(revision: bigint): Promise<string> {
  const container = tempDir('store-at');
  await mkdir(join(container, 'v2'));
  const name = `Full-00000000-${String(revision).padStart(8, '0')}-1790000000.gz`;
  await writeFile(join(container, 'v2', name), 'not read');
  return container;
}
