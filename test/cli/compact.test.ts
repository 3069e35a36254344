/** `compact` as a whole process: what it says, and its exit codes. */
import { execFile } from 'node:child_process';
import { mkdir, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { testDir } from '../restorer/set-up.js';
import { copySmallSet, flipBit } from '../restorer/small-set.js';

const program = fileURLToPath(new URL('../../dist/main.js', import.meta.url));
const dir = testDir('cli-compact');

function compact(container: string, ...args: string[]) {
  const all = [
    program,
    'compact',
    '--store-container',
    container,
    '--snapstore-temp-directory',
    dir.in('temp'),
  ];
  return new Promise<{ code: number; stdout: string; stderr: string }>((resolve) => {
    execFile(
      process.execPath,
      [...all, ...args],
      { env: { ...process.env, HOME: dir.path } },
      (error, stdout, stderr) => resolve({ code: error === null ? 0 : Number(error.code), stdout, stderr }),
    );
  });
}

test('says what it would do, does it, and finds nothing left to do', async () => {
  const { container } = await copySmallSet(dir.in('store'));
  const plan = await compact(container, '--dry-run');
  expect(plan).toMatchObject({ code: 0, stdout: expect.stringContaining('would merge') });
  const done = await compact(container, '--json');
  expect(done.code).toBe(0);
  expect(JSON.parse(done.stdout)).toMatchObject({ done: true, revision: '2981', compactRevision: '2981' });
  const again = await compact(container);
  expect(again).toMatchObject({ code: 0, stdout: expect.stringContaining('Nothing to do at revision 2981') });
  expect(again.stderr).toContain('nothing was stored');
});

test("the Go tool's command line is taken, and what has no use is told", async () => {
  const { container } = await copySmallSet(dir.in('store'));
  const args = [
    '--defragment=false',
    '--etcd-snapshot-timeout=5m',
    '--data-dir=/nowhere',
    '--max-fetchers=2',
  ];
  const { code, stdout, stderr } = await compact(container, ...args);
  expect({ code, stdout }).toMatchObject({ code: 0, stdout: expect.stringContaining('Stored Full-') });
  for (const flag of ['--defragment', '--data-dir']) expect(stderr).toContain(`${flag} has no effect`);
});

test('exit codes: 3 without a backup, 4 when one is damaged, 2 for a wrong flag', async () => {
  await mkdir(dir.in('empty'));
  expect(await compact(dir.in('empty'))).toMatchObject({ code: 3 });
  const { container, names } = await copySmallSet(dir.in('store'));
  const [, delta = ''] = names;
  await flipBit(join(container, 'v2', delta), 500);
  const damaged = await compact(container);
  expect(damaged).toMatchObject({ code: 4, stderr: expect.stringContaining(delta) });
  expect(await readdir(join(container, 'v2'))).toHaveLength(names.length);
  const wrong = await compact(container, '--compat', 'gardener', '--compression-policy', 'zstd');
  expect(wrong).toMatchObject({ code: 2 });
});
