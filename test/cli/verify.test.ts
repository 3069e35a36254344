/** `verify` as a whole process: exit codes, what it says, what it remembers, and that Ctrl-C keeps what is done. */
import { execFile, spawn } from 'node:child_process';
import { cp, readdir, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { fixture } from '../restorer/request.js';
import { testDir } from '../restorer/set-up.js';
import { copySmallSet, flipBit } from '../restorer/small-set.js';
import { etcdBinary } from '../servers/binaries.js';

const program = fileURLToPath(new URL('../../dist/main.js', import.meta.url));
const dir = testDir('cli-verify');
const environment = () => ({ ...process.env, HOME: dir.path, XDG_STATE_HOME: '' });

function verify(...args: string[]): Promise<{ code: number; stdout: string; stderr: string }> {
  return new Promise((resolve) => {
    execFile(
      process.execPath,
      [program, 'verify', ...args],
      { env: environment() },
      (error, stdout, stderr) => {
        resolve({ code: error === null ? 0 : Number(error.code), stdout, stderr });
      },
    );
  });
}

describe('verify', () => {
  test('a sound set: exit 0, a line per object, what can be restored, how fast it was; then from memory', async () => {
    const args = ['--store-container', fixture('gardener-gzip-etcd3.5/store')];
    const { code, stdout } = await verify(...args);
    expect(code).toBe(0);
    expect(stdout.match(/^ok {7}/gm)).toHaveLength(8);
    expect(stdout).toContain('every revision of 1486-2989 can be restored');
    expect(stdout).toMatch(/verified 8 objects, .*: all sound; read 8 .* objects\/s/);
    const again = await verify(...args);
    expect(again.stdout.match(/unchanged since\)$/gm)).toHaveLength(8);
    expect(again.stdout).toMatch(/read 0 \(0 B\).*; 8 known from earlier runs/);
    expect(await readdir(dir.in('.local/state/etcdbr'))).toHaveLength(1);
    expect((await verify(...args, '--state-dir', 'off')).stdout).not.toContain('unchanged since');
  });

  test('exit 4: damage, a gap, nothing that can be restored; each says which', async () => {
    const { container, names } = await copySmallSet(dir.in('store'));
    const args = ['--store-container', container];
    await flipBit(`${container}/v2/${names[3]}`, 3_000);
    const damaged = await verify(...args);
    expect(damaged).toMatchObject({ code: 4, stderr: expect.stringContaining('1 of 8 objects are damaged') });
    expect(damaged.stdout).toContain(`DAMAGED  ${names[3]}: `);
    expect(damaged.stdout).toContain('INCOMPLETE: revisions 1982-2233');
    await flipBit(`${container}/v2/${names[3]}`, 3_000);
    expect((await verify(...args)).code).toBe(0);
    await cp(`${container}/v2/${names[7]}`, dir.in(`only/v2/${names[7]}`));
    expect(await verify('--store-container', dir.in('only'))).toMatchObject({
      code: 4,
      stderr: expect.stringContaining('no full to begin with'),
    });
  });

  test('--json holds verdicts, chain and totals, and nothing else is on stdout', async () => {
    const { code, stdout } = await verify(
      ...['--json', '--store-container', fixture('gardener-two-writers-etcd3.5/store')],
    );
    expect(code).toBe(0);
    const verdict = JSON.parse(stdout);
    expect(verdict.objects).toHaveLength(11);
    expect(verdict).toMatchObject({ chain: { plan: { kind: 'ready' } }, totals: { readObjects: 11 } });
  });

  test('--trial-restore tells what it proved, and is not tried on a damaged set', async () => {
    const { container, names } = await copySmallSet(dir.in('store'));
    const args = ['--store-container', container, '--trial-restore', '--etcd-binary', etcdBinary('3.4.23')];
    const { code, stdout } = await verify(...args, '--snapstore-temp-directory', dir.in('temp'));
    expect(code).toBe(0);
    expect(stdout).toMatch(
      /trial restore: an etcd 3\.4\.23 serves revision 2981 with \d+ keys; HashKV \d+ as computed/,
    );
    expect(await readdir(dir.in('temp'))).toEqual([]);
    await flipBit(`${container}/v2/${names[3]}`, 3_000);
    expect(await verify(...args)).toMatchObject({ code: 4, stdout: expect.stringContaining('not tried') });
  });

  test('a state dir that is no directory is no reason to fail', async () => {
    await writeFile(dir.in('file'), '');
    const args = ['--store-container', fixture('gardener-zlib-etcd3.6/store')];
    const { code, stderr } = await verify(...args, '--state-dir', dir.in('file'));
    expect(code).toBe(0);
    expect(stderr).toContain('not remembered');
  });

  test('Ctrl-C: exit 130, and the next run goes on where it was', async () => {
    const args = ['--store-container', fixture('gardener-plain-etcd3.4/store'), '--max-verifiers', '1'];
    const child = spawn(process.execPath, [program, 'verify', ...args], { env: environment() });
    let [stdout, stderr] = ['', ''];
    child.stderr.on('data', (text) => (stderr += text));
    child.stdout.on('data', (text) => {
      if (stdout === '') child.kill('SIGINT');
      stdout += text;
    });
    const code = await new Promise((resolve) => child.once('close', resolve));
    expect({ code, stderr }).toEqual({ code: 130, stderr: expect.stringContaining('goes on from there') });
    const done = stdout.match(/^ok {7}/gm)?.length ?? 0;
    expect(done).toBeLessThan(8);
    const second = await verify(...args);
    expect(second.code).toBe(0);
    expect(second.stdout.match(/unchanged since\)$/gm)?.length).toBeGreaterThanOrEqual(Math.max(done, 1));
  });
});
