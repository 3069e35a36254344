/** Whether there is room for a restore. What is not known is estimated, and only what is known is refused. */
import { statfs } from 'node:fs/promises';
import { formatBytes } from '../base/bytes.js';
import type { RestoreConfig } from '../config/restore.js';
import { BackupError } from '../errors.js';
import type { Plan, StoredSnapshot } from '../snapshot/plan.js';
import type { RestoreObserver } from './observer.js';
import { nearestExisting } from './target.js';

/** How much larger a db is than its packed form, where no manifest says it. */
const FULL_EXPANSION = 5;
/** How much a delta adds to the db, and to the log of the replaying etcd, per byte of its packed form. */
const DELTA_EXPANSION = 8;
/** Log segments that the replaying etcd keeps at a time. */
const REPLAY_LOG_BYTES = 6 * 64 * 1024 * 1024;
const MEMBER_OVERHEAD_BYTES = 1024 * 1024;

export interface SpaceNeed {
  /** As far as it can be told. */
  readonly likelyBytes: number;
  /** Less than this cannot do. */
  readonly leastBytes: number;
}

type SpaceWish = Pick<RestoreConfig, 'maxInflightBytes' | 'applier' | 'pack' | 'compact'>;

/** The base is there twice at most: packed and plain, then plain and, when an etcd replays, as that one's own. */
export function spaceNeed(plan: Plan, { maxInflightBytes, applier, pack, compact }: SpaceWish): SpaceNeed {
  const { base, deltas } = plan;
  const least = leastPlainBytes(base);
  const plain = likelyPlainBytes(base);
  const deltaBytes = deltas.reduce((sum, { object }) => sum + object.bytes, 0);
  const replays = applier === 'embedded' && deltas.length > 0;
  const inflight = deltas.length === 0 ? 0 : maxInflightBytes;
  const rewrite = pack || compact ? plain + deltaBytes : 0;
  const apply = deltaBytes * DELTA_EXPANSION + (replays ? plain + REPLAY_LOG_BYTES : 0) + rewrite;
  return {
    leastBytes: least + (replays ? Math.max(base.bytes, least) : base.bytes) + MEMBER_OVERHEAD_BYTES,
    likelyBytes: plain + Math.max(base.bytes, apply) + inflight + MEMBER_OVERHEAD_BYTES,
  };
}

export async function freeBytes(path: string): Promise<number> {
  const { bavail, bsize } = await statfs(await nearestExisting(path));
  return bavail * bsize;
}

export async function checkSpace(
  path: string,
  need: SpaceNeed,
  observer: RestoreObserver,
  elsewhere = 'restore into a --data-dir on another file system',
): Promise<void> {
  const free = await freeBytes(path);
  if (free < need.leastBytes) {
    throw new BackupError(
      'NO_SPACE',
      `${formatBytes(free)} are free, at least ${formatBytes(need.leastBytes)} are needed (likely ${formatBytes(need.likelyBytes)})`,
      {
        op: 'restore',
        object: path,
        hint: `make room there, or ${elsewhere}`,
      },
    );
  }
  if (free < need.likelyBytes) {
    observer.warn(`${formatBytes(free)} are free in ${path}; it may need ${formatBytes(need.likelyBytes)}`);
  }
}

function leastPlainBytes({ bytes, manifest }: StoredSnapshot): number {
  return manifest?.plain?.bytes ?? bytes;
}

function likelyPlainBytes({ bytes, name, manifest }: StoredSnapshot): number {
  return manifest?.plain?.bytes ?? (name.codec === 'none' ? bytes : bytes * FULL_EXPANSION);
}
