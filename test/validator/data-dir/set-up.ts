/** What the tests of data directories share: a fixture's member, a verdict, and what a real etcd makes of a copy. */
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { cp, mkdir, open, readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { DataDirConfig } from '../../../src/config/data-dir.js';
import { openStore } from '../../../src/store/open-store.js';
import type { DataDirVerdict } from '../../../src/validator/data-dir/verdict.js';
import { verifyDataDir } from '../../../src/validator/data-dir/verify-data-dir.js';
import { fixture } from '../../restorer/request.js';
import type { EtcdVersion } from '../../servers/binaries.js';
import { startEtcd } from '../../servers/etcd.js';
import { removeTempDir, tempDir } from '../../servers/process.js';

const execute = promisify(execFile);

/** The data directory of a stopped etcd; returns its path. */
export async function unpackDataDir(set: string, into: string): Promise<string> {
  await mkdir(into, { recursive: true });
  await execute('tar', ['xzf', fixture(`${set}/data-dir.tar.gz`), '-C', into]);
  return join(into, 'default.etcd');
}

export type JudgeChange = Partial<DataDirConfig> & {
  readonly container?: string;
  readonly signal?: AbortSignal;
};

/** The verdict; nothing may be left in the temp dir. */
export async function judge(
  dataDir: string,
  { container, signal, ...change }: JudgeChange = {},
): Promise<DataDirVerdict> {
  const work = tempDir('judge');
  try {
    const config: DataDirConfig = {
      ...{
        dataDir,
        walDir: undefined,
        mode: 'full' as const,
        repair: false,
        hasStore: container !== undefined,
      },
      ...{ etcdBinary: undefined, namespace: undefined, ...change },
    };
    const settings = { provider: 'Local', container: container ?? '', prefix: '', homeDir: '/nowhere' };
    const store = container === undefined ? undefined : await openStore(settings);
    const verdict = await verifyDataDir(config, { store, tempDir: work, signal });
    if ((await readdir(work)).length > 0) throw new Error('something is left in the temp dir');
    return verdict;
  } finally {
    await removeTempDir(work);
  }
}

/** From 3.6 on an etcd whose database is ahead of its WAL is not ready until enough was written, which is never. */
const ON_COPY_MS = 12_000;

export type OnCopy = bigint | 'refuses' | 'hangs';

/** What an etcd says that starts on a copy: its revision, that it refuses, or nothing at all. */
export async function etcdOnCopy(version: EtcdVersion, dataDir: string): Promise<OnCopy> {
  const work = tempDir('on-copy');
  const copy = join(work, 'data');
  await cp(dataDir, copy, { recursive: true });
  try {
    const etcd = await startEtcd(version, { dataDir: copy, readyTimeoutMs: ON_COPY_MS });
    const endpoint = await etcd.open();
    try {
      await endpoint.getAt(Buffer.from([0]), 0n);
      return (await endpoint.status()).revision;
    } finally {
      endpoint.close();
      await etcd.destroy();
    }
  } catch (error) {
    if (/ended \(/.test(String(error))) return 'refuses';
    if (/is not ready/.test(String(error))) return 'hangs';
    throw error;
  } finally {
    await removeTempDir(work);
  }
}

/** Sizes, times and digests of everything below a directory. */
export async function traceOf(dir: string): Promise<string[]> {
  const names = (await readdir(dir, { recursive: true })).sort();
  return Promise.all(
    names.map(async (name) => {
      const path = join(dir, name);
      const stats = await stat(path);
      const digest = stats.isFile()
        ? createHash('sha256')
            .update(await readFile(path))
            .digest('hex')
        : '';
      return [name, stats.size, stats.mtimeMs, stats.ctimeMs, stats.mode, digest].join(' ');
    }),
  );
}

export async function walFiles(dataDir: string): Promise<string[]> {
  const dir = join(dataDir, 'member', 'wal');
  return (await readdir(dir))
    .filter((name) => name.endsWith('.wal'))
    .sort()
    .map((name) => join(dir, name));
}

/** Overwrites bytes in place. */
export async function patch(path: string, at: number, bytes: Uint8Array): Promise<void> {
  const file = await open(path, 'r+');
  await file.write(bytes, 0, bytes.length, at);
  await file.close();
}

/** Bytes up to the zeros at the end. */
export async function usedBytes(path: string): Promise<number> {
  const bytes = await readFile(path);
  let end = bytes.length;
  while (end > 0 && bytes[end - 1] === 0) end -= 1;
  return Math.ceil(end / 8) * 8;
}

const LENGTH_BYTES = 8;

/**
 * Changes a byte inside of a record in the middle of a WAL file. A length that is hit instead may point beyond the end,
 * and then even etcd takes everything behind it for torn.
 */
export async function damageMiddle(path: string): Promise<void> {
  const bytes = await readFile(path);
  const middle = (await usedBytes(path)) / 2;
  let at = 0;
  for (;;) {
    const padded = (bytes.readUInt32LE(at) + LENGTH_BYTES - 1) & -LENGTH_BYTES;
    const next = at + LENGTH_BYTES + padded;
    if (next > middle) break;
    at = next;
  }
  const inside = at + LENGTH_BYTES + Math.floor(bytes.readUInt32LE(at) / 2);
  await patch(path, inside, Buffer.from([bytes.readUInt8(inside) ^ 0xff]));
}
