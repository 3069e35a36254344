/** What lies in the store is damaged, or is something else (hazards 22, 27, 28 and R9). */
import { createHash } from 'node:crypto';
import { mkdir, readFile, rm, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { APPLIERS, fixture, type Heard, restoreFrom } from '../restorer/request.js';
import { expectOnly, testDir } from '../restorer/set-up.js';
import { copySmallSet, flipBit, SMALL_SET_REVISION } from '../restorer/small-set.js';

const dir = testDir('files');
const version = '3.4.23';
const NAME = 'Full-00000000-00001393-1700000000';

async function storeWithFull(content: Buffer, name = NAME): Promise<string> {
  const store = dir.in('store');
  await mkdir(join(store, 'v2'), { recursive: true });
  await writeFile(join(store, 'v2', name), content);
  return store;
}

async function snapshot(): Promise<Buffer> {
  return gunzipSync(await readFile(fixture('etcd-3.6/snapshot.db.gz')));
}

function withTrailer(db: Buffer): Buffer {
  return Buffer.concat([db, createHash('sha256').update(db).digest()]);
}

/** An old directory that must stay as it is. */
async function oldDirectory(): Promise<string> {
  const path = dir.in('data');
  await restoreFrom({ container: fixture('gardener-plain-etcd3.4/store'), dataDir: path, version });
  return path;
}

async function expectUntouched(dataDir: string, restoring: Promise<unknown>, error: object): Promise<void> {
  const db = join(dataDir, 'member/snap/db');
  const before = await readFile(db);
  await expect(restoring).rejects.toMatchObject(error);
  expect((await readFile(db)).equals(before)).toBe(true);
  await expectOnly(dir.path, 'data', 'store');
}

describe('hazard 22: a db that is shorter than it says, with a trailer that agrees', () => {
  test.each([0.6, 1])('cut to %d of its pages', async (share) => {
    const whole = (await snapshot()).subarray(0, -32);
    const pages = whole.length / 4096;
    const cut = whole.subarray(0, (share === 1 ? pages - 1 : Math.floor(pages * share)) * 4096);
    const container = await storeWithFull(withTrailer(cut));
    const dataDir = await oldDirectory();
    await expectUntouched(dataDir, restoreFrom({ container, dataDir }), {
      message: expect.stringContaining(NAME),
      code: expect.stringMatching(/CORRUPT|TRUNCATED/),
    });
  });
});

describe('hazard 27: something that is no snapshot is called by its name', () => {
  const zip = Buffer.concat([Buffer.from('PK\x03\x04'), Buffer.alloc(2000)]);
  test.each([
    ['zip', zip, /zip/i],
    ['gzip', gzipSync(Buffer.alloc(5000, 7)), /gzip/i],
    ['tar', Buffer.concat([Buffer.alloc(257), Buffer.from('ustar\0'), Buffer.alloc(2000)]), /tar/i],
    ['html', Buffer.from('<!DOCTYPE html><html><body>Access denied</body></html>'), /html/i],
    ['empty', Buffer.alloc(0), /empty|0 bytes|no bytes/i],
  ])('%s', async (_, content, expected) => {
    const container = await storeWithFull(content);
    const restoring = restoreFrom({ container, dataDir: dir.in('data') });
    await expect(restoring).rejects.toMatchObject({ message: expect.stringMatching(expected) });
    await expect(restoring).rejects.toMatchObject({ message: expect.stringContaining(NAME) });
    await expectOnly(dir.path, 'store');
  });

  test('an html page under the name of a packed full', async () => {
    const container = await storeWithFull(Buffer.from('<!DOCTYPE html><html></html>'), `${NAME}.gz`);
    const restoring = restoreFrom({ container, dataDir: dir.in('data') });
    await expect(restoring).rejects.toMatchObject({
      message: expect.stringMatching(/html/i),
      object: `${NAME}.gz`,
    });
  });

  test('a .part file, a directory and odd names are passed over', async () => {
    const { container } = await copySmallSet(dir.in('store'));
    await writeFile(join(container, 'v2', 'Full-00000000-99999999-1900000000.part'), 'half');
    await mkdir(join(container, 'v2', 'test:with:colons'));
    const { plan } = await restoreFrom({ container, dataDir: dir.in('data'), version });
    expect(plan.revision).toBe(SMALL_SET_REVISION);
  });
});

describe('hazard 28: a snapshot that is not valid, or not quite', () => {
  test('leaves the old directory as it is', async () => {
    const content = await snapshot();
    content.writeUInt8(content.readUInt8(50_000) ^ 1, 50_000);
    const container = await storeWithFull(content);
    const dataDir = await oldDirectory();
    await expectUntouched(dataDir, restoreFrom({ container, dataDir }), { code: 'CHECKSUM', object: NAME });
  });

  test('a copy of member/snap/db, which has no trailer, needs the flag', async () => {
    const container = await storeWithFull((await snapshot()).subarray(0, -32));
    const dataDir = dir.in('data');
    await expect(restoreFrom({ container, dataDir })).rejects.toMatchObject({
      code: 'CHECKSUM',
      hint: expect.stringContaining('--skip-hash-check'),
    });
    await restoreFrom({ container, dataDir, skipHashCheck: true });
  });
});

/** Where some record's value begins: behind its 17 bytes of revision, which a leaf holds right before it. */
function startOfSomeRecord(db: Buffer): number {
  const revision = Buffer.alloc(17);
  revision.writeBigUInt64BE(1_400n);
  revision.write('_', 8);
  const at = db.indexOf(revision);
  expect(at).toBeGreaterThan(0);
  expect(db.readUInt8(at + revision.length)).toBe(0x0a);
  return at + revision.length;
}

describe.each(APPLIERS)('%s applier', (applier) => {
  describe('R9: a damaged object fails the restore with its name and the command for what can be had', () => {
    test.each([
      ['a flipped bit', (path: string) => flipBit(path, 3_000)],
      ['a cut', (path: string) => truncate(path, 9_000)],
      ['nothing', (path: string) => writeFile(path, '')],
      ['another file', (path: string) => writeFile(path, '<html></html>')],
    ])('delta: %s', async (_, damage) => {
      const { container, names } = await copySmallSet(dir.in('store'));
      const object = names[4] as string;
      await damage(join(container, 'v2', object));
      const dataDir = dir.in('data');
      await expect(restoreFrom({ applier, container, dataDir, version })).rejects.toMatchObject({
        object,
        hint: expect.stringMatching(
          new RegExp(`revision 2233 .*etcdbr restore --exclude ${object} --allow-older`, 's'),
        ),
      });
      await expectOnly(dir.path, 'store');
      const heard: Heard = { warnings: [], infos: [] };
      const { plan, lostUpTo } = await restoreFrom(
        { applier, container, dataDir, version, allowOlder: true },
        heard,
      );
      expect(plan.revision).toBe(2233n);
      expect(lostUpTo).toBe(SMALL_SET_REVISION);
      expect(heard.warnings.join('\n')).toContain(object);
      await expectOnly(dir.path, 'data', 'store');
    });

    test('a missing delta is told before any work, with the exact range', async () => {
      const { container, names } = await copySmallSet(dir.in('store'));
      await rm(join(container, 'v2', names[3] as string));
      const restoring = restoreFrom({ applier, container, dataDir: dir.in('data'), version });
      await expect(restoring).rejects.toMatchObject({
        code: 'REVISION_GAP',
        message: expect.stringContaining('revisions 1982-2233'),
        hint: expect.stringContaining('revision 1981'),
      });
    });

    test('a full whose records are damaged under a good trailer: an older full is used instead', async () => {
      const { container, names } = await copySmallSet(dir.in('store'));
      const older = await readFile(join(container, 'v2', names[0] as string));
      const db = Buffer.from(older.subarray(0, -32));
      // The last put of a value: `0A length key 10 …`; its first field becomes one that protobuf does not have.
      db.writeUInt8(0x0f, startOfSomeRecord(db));
      const newer = (names[0] as string).replace(/-\d+$/, (secs) => `-${Number(secs.slice(1)) + 1}`);
      await writeFile(join(container, 'v2', newer), withTrailer(db));
      const heard: Heard = { warnings: [], infos: [] };
      const dataDir = dir.in('data');
      const { plan, base } = await restoreFrom({ applier, container, dataDir, version }, heard);
      expect(plan.revision).toBe(SMALL_SET_REVISION);
      expect(base.object.name.text).toBe(names[0]);
      expect(heard.warnings.join('\n')).toContain(newer);
      await expectOnly(dir.path, 'data', 'store');
      await rm(join(container, 'v2', names[0] as string));
      await rm(dataDir, { recursive: true });
      await expect(restoreFrom({ applier, container, dataDir, version })).rejects.toMatchObject({
        code: 'CORRUPT',
        object: newer,
      });
      await expectOnly(dir.path, 'store');
    });

    test('a damaged duplicate costs nothing: the other one is used', async () => {
      const { container, names } = await copySmallSet(dir.in('store'));
      const object = names[4] as string;
      const good = await readFile(join(container, 'v2', object));
      const later = object.replace(/-\d+$/, (secs) => `-${Number(secs.slice(1)) + 1}`);
      await writeFile(join(container, 'v2', later), good);
      for (const name of [object, later]) {
        await writeFile(join(container, 'v2', object), good);
        await writeFile(join(container, 'v2', later), good);
        await flipBit(join(container, 'v2', name), 3_000);
        await rm(dir.in('data'), { recursive: true, force: true });
        const { plan } = await restoreFrom({ applier, container, dataDir: dir.in('data'), version });
        expect(plan.revision).toBe(SMALL_SET_REVISION);
      }
    });

    test('the only full is damaged: nothing can be had', async () => {
      const { container, names } = await copySmallSet(dir.in('store'));
      await flipBit(join(container, 'v2', names[0] as string), 70_000);
      const restoring = restoreFrom({
        applier,
        container,
        dataDir: dir.in('data'),
        version,
        allowOlder: true,
      });
      await expect(restoring).rejects.toMatchObject({ code: 'CHECKSUM', object: names[0] });
      await expectOnly(dir.path, 'store');
    });

    test('only deltas, from revision 1 on, without a full', async () => {
      const { container, names } = await copySmallSet(dir.in('store'));
      await rm(join(container, 'v2', names[0] as string));
      const restoring = restoreFrom({ applier, container, dataDir: dir.in('data'), version });
      await expect(restoring).rejects.toMatchObject({
        code: 'NOTHING_TO_RESTORE',
        message: expect.stringContaining('no full'),
      });
    });
  });
});
