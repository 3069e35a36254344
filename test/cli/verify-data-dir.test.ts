/** `verify --data-dir` as a whole process: lines, JSON, exit codes. */
import { execFile } from 'node:child_process';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { beforeEach, expect, it } from 'vitest';
import { fixture } from '../restorer/request.js';
import { testDir } from '../restorer/set-up.js';
import { damageMiddle, unpackDataDir, walFiles } from '../validator/data-dir/set-up.js';

const program = fileURLToPath(new URL('../../dist/main.js', import.meta.url));
const dir = testDir('cli-data-dir');
const store = ['--store-container', fixture('gardener-plain-etcd3.4/store')];

interface Ended {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

let dataDir: string;
beforeEach(async () => {
  dataDir = await unpackDataDir('etcd-3.6', dir.in('var'));
});

function verify(...args: string[]): Promise<Ended> {
  const env = { ...process.env, HOME: dir.path, STORAGE_CONTAINER: '', POD_NAMESPACE: '' };
  return new Promise((resolve) => {
    execFile(process.execPath, [program, 'verify', ...args], { env }, (error, stdout, stderr) =>
      resolve({ code: error === null ? 0 : Number(error.code), stdout, stderr }),
    );
  });
}

it('0: says the verdict, the revision, the WAL and what was read', async () => {
  const { code, stdout } = await verify('--data-dir', dataDir);
  expect(code).toBe(0);
  for (const line of [
    /^verdict +ok; etcd can start on it$/m,
    /^revision +\d+/m,
    /^WAL .*raft entries/m,
    /^read /m,
  ])
    expect(stdout).toMatch(line);
});

it('0: the same as JSON, 64-bit numbers as strings', async () => {
  const { code, stdout } = await verify('--data-dir', dataDir, '--mode', 'sanity', '--json');
  expect(code).toBe(0);
  expect(JSON.parse(stdout)).toMatchObject({
    ...{ dataDir, mode: 'sanity', verdict: 'ok', status: 'Valid', consequence: 'start', problems: [] },
    revision: {
      database: expect.stringMatching(/^\d+$/),
      least: expect.any(String),
      most: expect.any(String),
    },
    wal: {
      memberId: expect.any(String),
      clusterId: expect.any(String),
      lastIndex: expect.stringMatching(/^\d+$/),
    },
  });
});

it('3: nothing there', async () => {
  const { code, stderr } = await verify('--data-dir', dir.in('none'));
  expect(code).toBe(3);
  expect(stderr).toContain('nothing there');
});

it('4: behind the store, and damaged', async () => {
  const behind = await verify('--data-dir', dataDir, ...store);
  expect(behind.code).toBe(4);
  expect(behind.stdout).toMatch(/^problem .*revisions \d+ to 2981 are missing$/m);
  const [wal = ''] = await walFiles(dataDir);
  await damageMiddle(wal);
  const damaged = await verify('--data-dir', dataDir);
  expect(damaged.code).toBe(4);
  expect(damaged.stderr).toContain('damaged: it has to be restored from a backup');
  expect((await readdir(join(dataDir, 'member', 'wal'))).length).toBe(1);
});

it('2: flags that say nothing alone', async () => {
  expect((await verify('--repair')).code).toBe(2);
  expect((await verify('--data-dir', '~/etcd')).stderr).toContain('~ is not expanded');
});
