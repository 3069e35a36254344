/** Every verdict on a data directory, its consequence and the Go tool's name for it; nothing leaves a trace. */
import { execFile, spawn } from 'node:child_process';
import { cp, mkdir, readFile, rename, rm, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { beforeEach, describe, expect, it } from 'vitest';
import { fixture } from '../../restorer/request.js';
import { cleanUp, testDir } from '../../restorer/set-up.js';
import { damageMiddle, judge, patch, traceOf, unpackDataDir, walFiles } from './set-up.js';

const execute = promisify(execFile);
const dir = testDir('data-dir');
/** Its set ends at revision 2981; the member of the fixture etcd-3.5 at about 1400. */
const NEWER_STORE = fixture('gardener-plain-etcd3.4/store');

const PAGE_BYTES = 4096;
/** Of a page's flags. */
const LEAF = 2;

let dataDir: string;
let wal: string;
let db: string;
beforeEach(async () => {
  dataDir = await unpackDataDir('etcd-3.5', dir.in('var'));
  [wal = ''] = await walFiles(dataDir);
  db = join(dataDir, 'member', 'snap', 'db');
});

describe('a stopped etcd', () => {
  it.each(['etcd-3.4', 'etcd-3.5', 'etcd-3.6', 'etcd-3.7'])('of %s is ok in both modes', async (set) => {
    const one = await unpackDataDir(set, dir.in(set));
    for (const mode of ['sanity', 'full'] as const) {
      const verdict = await judge(one, { mode });
      expect(verdict).toMatchObject({ verdict: 'ok', status: 'Valid', consequence: 'start', problems: [] });
      expect(verdict.revision?.least).toBe(verdict.revision?.most);
      expect(verdict.records === undefined).toBe(mode === 'sanity');
    }
  });

  it('hazard 26: is left as it was, to the change time', async () => {
    const before = await traceOf(dir.in('var'));
    await judge(dataDir, { container: NEWER_STORE });
    await judge(dataDir, { mode: 'sanity' });
    expect(await traceOf(dir.in('var'))).toEqual(before);
  });

  it('is verified on a read-only file system', async () => {
    const mounted = dir.in('mounted');
    await mkdir(mounted);
    await execute('mount', ['--bind', dataDir, mounted]);
    cleanUp(() => execute('umount', [mounted]));
    await execute('mount', ['-o', 'remount,ro,bind', mounted]);
    await expect(writeFile(join(mounted, 'x'), '')).rejects.toThrow(/EROFS/);
    expect(await judge(mounted)).toMatchObject({ verdict: 'ok' });
  });

  it('may keep its WAL elsewhere', async () => {
    await rename(join(dataDir, 'member', 'wal'), dir.in('wal'));
    expect(await judge(dataDir)).toMatchObject({ verdict: 'damaged', status: 'InvStruct' });
    expect((await judge(dataDir)).problems[0]).toContain('--wal-dir');
    expect(await judge(dataDir, { walDir: dir.in('wal') })).toMatchObject({ verdict: 'ok' });
  });
});

describe('what is not there', () => {
  it('no directory, and an empty one', async () => {
    expect(await judge(dir.in('none'))).toMatchObject({
      ...{ verdict: 'nothing there', status: 'NotExist', consequence: 'restore' },
    });
    await mkdir(join(dir.in('empty'), 'lost+found'), { recursive: true });
    expect(await judge(dir.in('empty'))).toMatchObject({ verdict: 'nothing there', status: 'InvStruct' });
  });

  it('with a store that is empty, too, etcd starts empty', async () => {
    await mkdir(dir.in('store'));
    expect(await judge(dir.in('none'), { container: dir.in('store') })).toMatchObject({
      consequence: 'start empty',
      store: { newest: undefined },
    });
  });

  it.each(['member', 'member/snap', 'member/wal', 'member/snap/db'])('%s', async (path) => {
    await rm(join(dataDir, path), { recursive: true });
    await writeFile(join(dataDir, 'something'), '');
    const verdict = await judge(dataDir);
    expect(verdict).toMatchObject({ verdict: 'damaged', status: 'InvStruct', consequence: 'restore' });
    expect(verdict.problems[0]).toContain('is not there');
  });
});

describe('the volume guard', () => {
  it('stops at another namespace, whatever else is wrong', async () => {
    await writeFile(join(dir.in('var'), 'safe_guard'), 'shoot--other');
    await rm(db);
    expect(await judge(dataDir, { namespace: 'shoot--mine' })).toMatchObject({
      ...{ verdict: 'wrong volume', status: 'WrongVolumeMounted', consequence: 'stop' },
      problems: [expect.stringContaining('shoot--other')],
    });
  });

  it('passes when it is right, when it is missing, and when nobody says', async () => {
    expect(await judge(dataDir, { namespace: 'mine' })).toMatchObject({ verdict: 'ok' });
    await writeFile(join(dir.in('var'), 'safe_guard'), 'mine');
    expect(await judge(dataDir, { namespace: 'mine' })).toMatchObject({ verdict: 'ok' });
    expect(await judge(dataDir)).toMatchObject({ verdict: 'ok' });
  });
});

it('hazard 41: a lock that is held elsewhere is an error within a bound, and names the holder', async () => {
  const holder = spawn('flock', ['--no-fork', '--exclusive', db, 'sleep', '60']);
  cleanUp(() => holder.kill('SIGKILL'));
  await new Promise((resolve) => setTimeout(resolve, 300));
  const begin = performance.now();
  await expect(judge(dataDir)).rejects.toMatchObject({
    code: 'LOCKED',
    message: expect.stringMatching(new RegExp(`process ${holder.pid}\\b`)),
  });
  expect(performance.now() - begin).toBeLessThan(10_000);
});

describe('damage', () => {
  const damaged = async (pattern: RegExp, status = 'Corrupt', mode: 'sanity' | 'full' = 'sanity') => {
    const verdict = await judge(dataDir, { mode });
    expect(verdict).toMatchObject({ verdict: 'damaged', status, consequence: 'restore' });
    expect(verdict.problems.join('\n')).toMatch(pattern);
  };

  it('of both metas', async () => {
    for (const page of [0, 4096]) await patch(db, page + 16, Buffer.alloc(64, 0xff));
    await damaged(/no bbolt file: it has no valid meta page/, 'BoltDBCorrupt');
  });

  it('hazard 27: another file in its place is called by its name', async () => {
    await writeFile(db, Buffer.concat([Buffer.from('PK\x03\x04'), Buffer.alloc(5000)]));
    await damaged(/it is a zip/i, 'BoltDBCorrupt');
    await writeFile(db, '');
    await damaged(/it is empty/, 'BoltDBCorrupt');
  });

  it('of a page that only the full mode reads', async () => {
    const sound = await readFile(db);
    for (let at = 2 * PAGE_BYTES; at < sound.length; at += PAGE_BYTES) {
      if (sound.readUInt16LE(at + 8) !== LEAF) continue;
      await patch(db, at + 8, Buffer.from([0xff, 0xff]));
      if ((await judge(dataDir, { mode: 'sanity' })).verdict === 'ok') break;
      await patch(db, at + 8, sound.subarray(at + 8, at + 10));
    }
    await damaged(/bbolt: page \d+/, 'Corrupt', 'full');
  });

  it('of a record in the middle of the WAL', async () => {
    await damageMiddle(wal);
    await damaged(/WAL file .* at offset \d+/);
  });

  it('of a WAL without files', async () => {
    await rm(wal);
    await damaged(/no WAL file/);
  });

  it('of a first WAL file that went missing', async () => {
    await rename(wal, join(dataDir, 'member', 'wal', '0000000000000001-0000000000ffffff.wal'));
    await damaged(/no WAL file begins at or before raft index/);
  });

  it('hazard 29: an old WAL beside a new database, and a new one beside an old database', async () => {
    const other = await unpackDataDir('etcd-3.6', dir.in('other'));
    const [otherWal = ''] = await walFiles(other);
    await cp(otherWal, wal);
    await damaged(/has applied raft entry 1467, the WAL ends at 1463: it is an older one/);
  });
});

describe('beside a store', () => {
  it('one that knows less is behind', async () => {
    const verdict = await judge(dataDir, { container: NEWER_STORE });
    expect(verdict).toMatchObject({
      ...{ verdict: 'behind the store', status: 'RevisionConsistencyError', consequence: 'restore' },
      store: { newest: { revision: 2981n } },
    });
    expect(verdict.problems[0]).toMatch(/revisions \d+ to 2981 are missing/);
  });

  it('hazard 28: damage comes before the comparison, and nothing is touched by either', async () => {
    await truncate(db, 20_000);
    const before = await traceOf(dataDir);
    const verdict = await judge(dataDir, { container: NEWER_STORE });
    expect(verdict).toMatchObject({ verdict: 'damaged', consequence: 'restore' });
    expect(await traceOf(dataDir)).toEqual(before);
  });
});
