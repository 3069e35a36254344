/** Data directories that an etcd of any version starts from, and their databases: packed, and aged by a real etcd. */
import { cp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { RawChannel } from '../../src/etcd/channel.js';
import { blast } from '../../test/servers/blast.js';
import { startEtcd } from '../../test/servers/etcd.js';
import { PEER_VERSION } from '../engines/etcdbr.js';
import { measure } from '../measure.js';
import { cached } from './cache.js';
import { varintField } from './protobuf.js';

export const VALUE_BYTES = 768;
/** Keys are overwritten round and round, so a database above 0.8 GiB has history. */
export const KEYS = 1_000_000;
export const QUOTA_FLAGS = ['--quota-backend-bytes', '68719476736'];
/** What a record takes beside its value. */
const RECORD_OVERHEAD_BYTES = 90;

const MANIFEST = fileURLToPath(new URL('../../Cargo.toml', import.meta.url));

/** Records of `mib` MiB, written in one go: pages in order, full, none free. */
export function packedMember(mib: number): Promise<string> {
  return cached(`member-${mib}`, (dir) => makePacked(mib, dir));
}

export async function makePacked(mib: number, dir: string): Promise<void> {
  const cargo = ['run', '--quiet', '--release', '--manifest-path', MANIFEST, '-p', 'etcd-data'];
  const args = [...cargo, '--example', 'make_member', '--', dir, `${mib}`, `${VALUE_BYTES}`, `${KEYS}`];
  await measure({ command: 'cargo', args });
}

/**
 * The same after a life in an etcd: its older half compacted, then a quarter of its bytes put anew, which go into the
 * pages that became free. The order of leaves then says nothing about the order of keys.
 */
export function agedMember(mib: number): Promise<string> {
  return cached(`member-aged-${mib}`, async (dir) => {
    await cp(await packedMember(mib), dir, { recursive: true, mode: 2 });
    const etcd = await startEtcd(PEER_VERSION, { dataDir: dir, flags: QUOTA_FLAGS });
    try {
      const records = Math.floor((mib * 1024 ** 2) / (VALUE_BYTES + RECORD_OVERHEAD_BYTES));
      const channel = await RawChannel.open(etcd.connection(), etcd.endpoint, { windowBytes: 1024 * 1024 });
      await channel.unary('/etcdserverpb.KV/Compact', compaction(Math.floor(records / 2)), {
        timeoutMs: COMPACTION_TIMEOUT_MS,
      });
      channel.close();
      const puts = Math.ceil(records / 4);
      await blast(etcd.connection(), { seed: 3, keys: puts, valueBytes: VALUE_BYTES, inFlight: 100, puts });
      await etcd.stop();
    } finally {
      await etcd.destroy();
    }
    await rm(join(dir, 'member', 'wal'), { recursive: true });
  });
}

const COMPACTION_TIMEOUT_MS = 600_000;

export function dbOf(member: string): string {
  return join(member, 'member', 'snap', 'db');
}

/** CompactionRequest: 1 revision, 2 physical, which answers when the pages are free. */
function compaction(revision: number): Buffer {
  return Buffer.concat([varintField(1, revision), varintField(2, 1)]);
}
