/**
 * The revision that only an etcd can tell: a transaction whose compare fails and a delete of nothing make none. The
 * member is copied to a temporary place, an etcd is started on the copy, replays its WAL, and is stopped. The data
 * directory itself is only read.
 */
import { constants } from 'node:fs';
import { copyFile, mkdir, mkdtemp, readdir, rm, stat, statfs } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { formatBytes } from '../../base/bytes.js';
import { BackupError } from '../../errors.js';
import { startEmbedded } from '../../etcd/embedded.js';
import type { EtcdBinary } from '../../etcd/etcd-binary.js';
import { type DbInfo, inspectDb, surveyWal } from '../../native/index.js';
import type { MemberPaths } from './layout.js';
import type { MemberFacts } from './member.js';

export interface ReplayRequest {
  readonly paths: MemberPaths;
  readonly member: MemberFacts;
  readonly info: DbInfo;
  readonly binary: EtcdBinary;
  readonly tempDir: string;
  readonly signal?: AbortSignal | undefined;
}

/** Whatever the WAL asks for was allowed once. */
const QUOTA_BYTES = 1024 ** 4;
const MAX_REQUEST_BYTES = 1536 * 1024 * 1024;
const MAX_TXN_OPS = 100_000_000;
const READY_FLOOR_MS = 60_000;
/** etcd reads its whole db when it starts; this is a slow disk. */
const READY_BYTES_PER_MS = 10_000;
/** Entries that a slow machine applies. */
const READY_ENTRIES_PER_MS = 0.2;
/** What the replay writes beside the copy: a new WAL segment made ready ahead, growth of the database. */
const ROOM_BYTES = 256 * 1024 * 1024;
const COPIED_SNAP_FILES = /^db$|\.snap$|\.snap\.db$/;
const COPIED_WAL_FILES = /\.wal$/;

/** The revision after every entry of the WAL, and nothing else, is applied. */
export async function replayRevision(request: ReplayRequest): Promise<bigint> {
  const { paths, tempDir } = request;
  refuseInside(paths.dataDir, tempDir);
  await mkdir(tempDir, { recursive: true, mode: 0o700 });
  const workDir = await mkdtemp(join(tempDir, 'etcdbr-data-dir-'));
  try {
    const copy = await copyMember(request, join(workDir, 'data'));
    const revision = await runEtcd(request, copy, workDir);
    return revision - (await revisionsOfItsOwn(request, copy));
  } finally {
    await rm(workDir, { recursive: true, force: true });
  }
}

async function copyMember({ paths, signal }: ReplayRequest, dataDir: string): Promise<MemberPaths> {
  const member = join(dataDir, 'member');
  const copy = {
    dataDir,
    snapDir: join(member, 'snap'),
    walDir: join(member, 'wal'),
    db: join(member, 'snap', 'db'),
  };
  const files = [
    ...(await filesIn(paths.snapDir, COPIED_SNAP_FILES, copy.snapDir)),
    ...(await filesIn(paths.walDir, COPIED_WAL_FILES, copy.walDir)),
  ];
  await mkdir(copy.snapDir, { recursive: true, mode: 0o700 });
  await mkdir(copy.walDir, { mode: 0o700 });
  await checkSpace(
    dataDir,
    files.reduce((sum, { bytes }) => sum + bytes, ROOM_BYTES),
  );
  for (const { from, to } of files) {
    signal?.throwIfAborted();
    await copyFile(from, to, constants.COPYFILE_FICLONE);
  }
  return copy;
}

async function filesIn(from: string, names: RegExp, to: string) {
  const chosen = (await readdir(from)).filter((name) => names.test(name));
  return Promise.all(
    chosen.map(async (name) => ({
      ...{ from: join(from, name), to: join(to, name) },
      bytes: (await stat(join(from, name))).size,
    })),
  );
}

async function checkSpace(dir: string, need: number): Promise<void> {
  const { bavail, bsize } = await statfs(join(dir, '..'));
  if (bavail * bsize >= need) return;
  throw new BackupError(
    'NO_SPACE',
    `${formatBytes(bavail * bsize)} are free, a copy of the member needs ${formatBytes(need)}`,
    { op: 'verify', object: dir, hint: 'give a roomier --snapstore-temp-directory' },
  );
}

/** Ready means: a leader, and every entry of the WAL applied. Stopped in order, the database says it, also with auth on. */
async function runEtcd(request: ReplayRequest, copy: MemberPaths, workDir: string): Promise<bigint> {
  const { binary, member, info, signal } = request;
  const etcd = await startEmbedded({
    ...{ binary, dataDir: copy.dataDir, signal, workParent: workDir },
    ...{ quotaBytes: QUOTA_BYTES, maxRequestBytes: MAX_REQUEST_BYTES, maxTxnOps: MAX_TXN_OPS },
    readyTimeoutMs:
      READY_FLOOR_MS + info.dataBytes / READY_BYTES_PER_MS + member.wal.beyond.entries / READY_ENTRIES_PER_MS,
  });
  try {
    await etcd.stop();
  } finally {
    await etcd.kill();
  }
  return (await inspectDb(copy.db, { signal })).revision;
}

/**
 * An etcd that leads ends leases that have run out, which deletes their keys: entries behind the end of the WAL that
 * was given. Each may have made a revision; as many are taken off.
 */
async function revisionsOfItsOwn({ member, signal }: ReplayRequest, copy: MemberPaths): Promise<bigint> {
  const applied = member.wal.lastIndex;
  const after = await surveyWal(
    {
      walDir: copy.walDir,
      snapDir: copy.snapDir,
      applied,
      appliedTerm: null,
      revision: 1n,
      guarded: false,
      minor: null,
    },
    { signal },
  );
  return after.beyond.most;
}

function refuseInside(dataDir: string, tempDir: string): void {
  if (relative(dataDir, tempDir).startsWith('..')) return;
  throw new BackupError('USAGE', `is inside of ${dataDir}, which is only read`, {
    object: '--snapstore-temp-directory',
  });
}
