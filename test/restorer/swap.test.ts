/** The swap, cut short at each of its steps: the next start finds the old or the new, and finishes or cleans up. */
import { mkdir, readdir, readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { BackupError } from '../../src/errors.js';
import { exchangePaths } from '../../src/native/index.js';
import { PartDir, settleLeftover } from '../../src/restorer/part-dir.js';
import { swapIn } from '../../src/restorer/swap.js';
import { locateTarget, type Target } from '../../src/restorer/target.js';
import { testDir } from './set-up.js';

const dir = testDir('swap');
const NOW_MS = 1_700_000_000_000;
const MARK = '{"base":"Full"}\n';

class Killed extends Error {}

const unsupported = () => {
  throw new BackupError('UNSUPPORTED', 'no exchange here');
};

async function prepare(hasOld: boolean, isMountPoint = false): Promise<Target> {
  if (hasOld) await put(dir.in(isMountPoint ? 'data/member/which' : 'data/which'), 'old');
  const located = await locateTarget(dir.in('data'));
  const live = isMountPoint ? join(located.dataDir, 'member') : located.live;
  const target = { ...located, isMountPoint, live, part: `${live}.part` };
  const part = await PartDir.open(target);
  await put(join(part.new, 'which'), 'new');
  return target;
}

async function put(path: string, text: string): Promise<void> {
  await mkdir(join(path, '..'), { recursive: true });
  await writeFile(path, text);
}

/** The lock of the one that was killed goes with its process; here a new start sees a fresh file. */
async function nextStart(target: Target): Promise<string | undefined> {
  await rename(join(target.part, 'etcdbr-restore.lock'), dir.in('lock-of-the-dead'));
  await writeFile(join(target.part, 'etcdbr-restore.lock'), '');
  return settleLeftover(target);
}

function which(path: string): Promise<string> {
  return readFile(join(path, 'which'), 'utf8');
}

describe('killed', () => {
  test('before the exchange: the old one stays', async () => {
    const target = await prepare(true);
    const exchange = () => {
      throw new Killed();
    };
    await expect(swapIn(target, { nowMs: NOW_MS, mark: null, exchange })).rejects.toThrow(Killed);
    expect(await nextStart(target)).toContain('removed');
    expect(await which(target.live)).toBe('old');
    expect(await readdir(dir.path)).toEqual(['data', 'lock-of-the-dead']);
  });

  test.each([false, true])(
    'after the exchange: the old one is set aside, the mark written (mount point: %s)',
    async (isMountPoint) => {
      const target = await prepare(true, isMountPoint);
      const exchange = (a: string, b: string) => {
        exchangePaths(a, b);
        throw new Killed();
      };
      const mark = isMountPoint ? MARK : null;
      await expect(swapIn(target, { nowMs: NOW_MS, mark, exchange })).rejects.toThrow(Killed);
      expect(await nextStart(target)).toContain('finished');
      expect(await which(target.live)).toBe('new');
      expect(await which(`${target.live}.before-1700000000`)).toBe('old');
      if (isMountPoint) expect(await readFile(dir.in('data/etcdbr-restored.json'), 'utf8')).toBe(MARK);
      await expect(readdir(target.part)).rejects.toThrow('ENOENT');
    },
  );

  test('between the two renames: the new one is put in place', async () => {
    const target = await prepare(true);
    const killed = () => {
      throw new Killed();
    };
    await expect(swapIn(target, { nowMs: NOW_MS, mark: null, exchange: killed })).rejects.toThrow(Killed);
    await rename(target.live, `${target.live}.before-1700000000`);
    expect(await nextStart(target)).toContain('finished');
    expect(await which(target.live)).toBe('new');
    expect(await which(`${target.live}.before-1700000000`)).toBe('old');
  });

  test('after everything but the clean-up: nothing changes any more', async () => {
    const target = await prepare(true);
    const before = await swapIn(target, { nowMs: NOW_MS, mark: null, exchange: unsupported });
    expect(await nextStart(target)).toContain('removed');
    expect([await which(target.live), await which(before as string)]).toEqual(['new', 'old']);
  });
});

test('without an old directory there is nothing to set aside; a taken name gets a number', async () => {
  const target = await prepare(false);
  expect(await swapIn(target, { nowMs: NOW_MS, mark: null })).toBeUndefined();
  expect(await which(target.live)).toBe('new');
  await put(`${target.live}.before-1700000000/which`, 'older');
  await put(join(target.part, 'new', 'which'), 'newer');
  expect(await swapIn(target, { nowMs: NOW_MS, mark: null })).toBe(`${target.live}.before-17000000001`);
  expect(await which(`${target.live}.before-1700000000`)).toBe('older');
});
