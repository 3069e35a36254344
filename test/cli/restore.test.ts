/** `restore` as a whole process: what it says, its exit codes, and that a signal leaves everything as it was. */
import { spawn } from 'node:child_process';
import { readdir } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { fixture } from '../restorer/request.js';
import { expectOnly, testDir } from '../restorer/set-up.js';
import { copySmallSet, flipBit } from '../restorer/small-set.js';
import { etcdBinary } from '../servers/binaries.js';

const program = fileURLToPath(new URL('../../dist/main.js', import.meta.url));
const dir = testDir('cli-restore');

function begin(...args: string[]) {
  const env = { ...process.env, HOME: dir.path };
  const child = spawn(process.execPath, [program, 'restore', ...args], { env });
  let [stdout, stderr] = ['', ''];
  child.stdout.on('data', (text) => (stdout += text));
  child.stderr.on('data', (text) => (stderr += text));
  const ended = new Promise<{ code: number | null; stdout: string; stderr: string }>((resolve) =>
    child.once('close', (code) => resolve({ code, stdout, stderr })),
  );
  return { child, ended };
}

function restore(...args: string[]) {
  return begin(...args).ended;
}

const from = (container: string) => ['--store-container', container, '--data-dir', dir.in('data')];
const gardener = () => [
  ...from(fixture('gardener-plain-etcd3.4/store')),
  '--etcd-binary',
  etcdBinary('3.4.23'),
];

describe('restore', () => {
  test('ends with revision, time, proof, old directory and the command that starts etcd', async () => {
    const first = await restore(...gardener());
    expect(first).toMatchObject({ code: 0 });
    for (const text of [
      'revision 2981',
      'Last event: 2026-',
      'etcd --name default --data-dir',
      'other member',
    ])
      expect(first.stdout).toContain(text);
    const { code, stdout } = await restore(...gardener(), '--json');
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({
      revision: '2981',
      oldDirectory: expect.stringContaining('.before-'),
    });
  });

  test('--dry-run shows objects, bytes, disk and time, and changes nothing', async () => {
    const { code, stdout } = await restore(...gardener(), '--dry-run');
    expect(code).toBe(0);
    for (const text of ['Incr-00001485-00001731-1796074475', 'would restore into', 'disk', 'time'])
      expect(stdout).toContain(text);
    await expectOnly(dir.path);
  });

  test('exit codes: 3 for nothing, 4 for damage with the command for what can be had, 2 for usage', async () => {
    expect(await restore(...from(dir.in('nothing')))).toMatchObject({
      code: 3,
      stderr: expect.stringContaining('looked in'),
    });
    const { container, names } = await copySmallSet(dir.in('store'));
    await flipBit(`${container}/v2/${names[4]}`, 3_000);
    const args = [...from(container), '--etcd-binary', etcdBinary('3.4.23')];
    const damaged = await restore(...args);
    expect(damaged.code).toBe(4);
    const command = /^ {2}etcdbr restore (.*--allow-older)$/m.exec(damaged.stderr)?.[1] ?? '';
    const older = await restore(...command.split(' '));
    expect(older).toMatchObject({ code: 0, stdout: expect.stringContaining('LOST: revisions 2234-2981') });
    expect((await restore(...args, '--name', 'other')).code).toBe(2);
  });

  test('an etcd that is missing, or older than the base, is named with what to do', async () => {
    const missing = await restore(
      ...from(fixture('gardener-lzw-etcd3.7/store')),
      ...['--applier', 'embedded', '--etcd-binary', '/no/such/etcd'],
    );
    expect(missing).toMatchObject({ code: 1, stderr: expect.stringContaining('--etcd-binary') });
    const old = await restore(
      ...from(fixture('gardener-lzw-etcd3.7/store')),
      ...['--applier', 'embedded', '--etcd-binary', etcdBinary('3.5.35')],
    );
    expect(old).toMatchObject({ code: 1, stderr: expect.stringMatching(/etcd 3\.5\.35.*etcd 3\.7/s) });
    await expectOnly(dir.path);
  });

  test.each([
    ['SIGTERM', 143],
    ['SIGINT', 130],
  ] as const)('%s stops it with exit code %d, and nothing is left', async (signal, exitCode) => {
    // The native applier would be done before the signal comes.
    const { child, ended } = begin(...gardener(), '--applier', 'embedded');
    for (let waited = 0; waited < 100 && !(await readdir(dir.path)).includes('data.part'); waited++)
      await sleep(20);
    await sleep(300);
    child.kill(signal);
    const { code, stderr } = await ended;
    expect(stderr).toContain('stopped');
    expect(code).toBe(exitCode);
    await expectOnly(dir.path);
  });
});
