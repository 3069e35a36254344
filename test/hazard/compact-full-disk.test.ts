/** A temp directory that is too small for a merge, by more or less: nothing is stored, nothing is left, and it is said. */
import { execFileSync } from 'node:child_process';
import { mkdir, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { compactStore } from '../../src/compactor/compact.js';
import { parseCompactConfig } from '../../src/config/compact.js';
import { openStore } from '../../src/store/open-store.js';
import { given } from '../config/given.js';
import { testDir } from '../restorer/set-up.js';
import { copySmallSet } from '../restorer/small-set.js';

const dir = testDir('compact-full-disk');

test('hazard 24: a disk that fills at any step of a compact', async () => {
  const { container } = await copySmallSet(dir.in('store'));
  const settings = { provider: 'Local', container, prefix: '', homeDir: '/nowhere' };
  const before = await readdir(join(container, 'v2'));
  const tempDir = dir.in('small');
  await mkdir(tempDir);
  let failed = 0;
  for (let kib = 64; ; kib += 64) {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${kib}k`, 'etcdbr-test', tempDir]);
    const unmount = () => execFileSync('umount', [tempDir]);
    try {
      const result = await compactStore({
        ...parseCompactConfig(given({ 'max-fetchers': ['2'] }), 'etcdbr'),
        ...{ store: await openStore(settings), settings, tempDir, command: 'etcdbr compact' },
        observer: { progress: () => undefined, warn: () => undefined, info: () => undefined },
      });
      expect(result.done).toBe(true);
      break;
    } catch (error) {
      expect(error).toMatchObject({ name: 'BackupError', code: 'NO_SPACE' });
      expect(await readdir(join(container, 'v2'))).toEqual(before);
      expect(await readdir(tempDir)).toEqual([]);
      failed += 1;
    } finally {
      unmount();
    }
  }
  expect(failed).toBeGreaterThan(8);
});
