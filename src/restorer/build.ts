/** The new directory, complete: database, WAL, raft snapshot, owner and modes as the old one had them. */
import { chmod, lchown, mkdir, readdir, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type ClusterIds, writeMemberDir } from '../native/index.js';
import { RESTORED_FILE } from '../snapshot/restored-mark.js';
import type { PartDir } from './part-dir.js';
import type { Seat } from './seat.js';
import { lstatOrUndefined, type Target } from './target.js';

/** `<part>/new` around the proven database. */
export async function buildDirectory(
  target: Target,
  part: PartDir,
  dbPath: string,
  { cluster, targetVersion }: Seat,
  mark: string,
): Promise<ClusterIds> {
  const member = target.isMountPoint ? part.new : join(part.new, 'member');
  await mkdir(join(member, 'snap'), { recursive: true, mode: 0o700 });
  const ids = await writeMemberDir(member, cluster, targetVersion);
  await rename(dbPath, join(member, 'snap', 'db'));
  await chmod(join(member, 'snap', 'db'), 0o600);
  if (!target.isMountPoint) await writeFile(join(part.new, RESTORED_FILE), mark, { mode: 0o600 });
  await rm(part.work, { recursive: true, force: true });
  await takeOver(target, part, member);
  return ids;
}

/** etcd may run as another user than the restore; without an old directory, that above decides who owns the new one. */
async function takeOver({ live, dataDir }: Target, part: PartDir, member: string): Promise<void> {
  const old = (await lstatOrUndefined(live)) ?? (await lstatOrUndefined(dataDir));
  if (old === undefined) return;
  if (process.getuid?.() === 0) await chownTree(part.new, old.uid, old.gid);
  const oldLive = await lstatOrUndefined(live);
  if (oldLive !== undefined) await chmod(part.new, oldLive.mode & 0o7777);
  const oldMember = await lstatOrUndefined(join(dataDir, 'member'));
  if (oldMember !== undefined) await chmod(member, oldMember.mode & 0o7777);
}

async function chownTree(path: string, uid: number, gid: number): Promise<void> {
  const stats = await lstatOrUndefined(path);
  if (stats?.isDirectory()) {
    for (const name of await readdir(path)) await chownTree(join(path, name), uid, gid);
  }
  await lchown(path, uid, gid);
}
