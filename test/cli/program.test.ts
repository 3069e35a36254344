/** The command line as a whole process: usage, exit codes, streams. */
import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

const program = fileURLToPath(new URL('../../dist/main.js', import.meta.url));
const fixtures = fileURLToPath(new URL('../fixtures/', import.meta.url));
const store = (name: string) => [
  '--storage-provider',
  'Local',
  '--store-container',
  join(fixtures, name, 'store'),
];

let home: string;
beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), 'etcdbr-cli-'));
});
afterAll(() => rm(home, { recursive: true }));

interface Result {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

function etcdbr(...args: string[]): Promise<Result> {
  return new Promise((resolve) => {
    const env = { ...process.env, HOME: home };
    execFile(process.execPath, [program, ...args], { env }, (error, stdout, stderr) => {
      resolve({ code: error === null ? 0 : Number(error.code), stdout, stderr });
    });
  });
}

describe('usage', () => {
  it('help goes to stdout with exit code 0 and lists the exit codes', async () => {
    const { code, stdout } = await etcdbr('--help');
    expect(code).toBe(0);
    expect(stdout).toContain('nothing to restore');
  });

  it('an unknown command, an unknown flag and a wrong value each name themselves, exit code 2', async () => {
    expect(await etcdbr('lisst')).toMatchObject({ code: 2, stderr: expect.stringContaining("'lisst'") });
    expect(await etcdbr('list', '--nope')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("'--nope'"),
    });
    const wrong = await etcdbr('list', '--log-level', 'loud');
    expect(wrong).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('--log-level: "loud": expected error, warn'),
    });
  });

  it('no command at all is a matter of usage', async () => {
    expect((await etcdbr()).code).toBe(2);
  });

  it('a boolean flag never takes the next word for its value', async () => {
    const { code, stdout } = await etcdbr(
      'verify',
      '--json',
      'Incr-00001189-00001388-1796079744',
      ...store('gardener-two-writers-etcd3.5'),
    );
    expect(code).toBe(0);
    expect(JSON.parse(stdout).objects).toHaveLength(1);
  });
});

describe('list', () => {
  it('shows what the Go tool wrote, by revision, and what can be restored', async () => {
    const { code, stdout } = await etcdbr('list', ...store('gardener-gzip-etcd3.5'));
    expect(code).toBe(0);
    expect(stdout).toContain('Full-00000000-00001486-1796074461.gz');
    expect(stdout).toContain('restorable to revision 2989');
  });

  it('hazard 35 and upstream 19.6: a prefix that holds v2 itself hides nothing', async () => {
    const args = [...store('gardener-prefixed-etcd3.6'), '--store-prefix', 'team/cluster-a/v2'];
    expect((await etcdbr('list', ...args)).stdout).toContain('Full-00000000-00001480-1796074525.gz');
  });

  it('says where it looked when nothing is there', async () => {
    const { code, stderr } = await etcdbr('list', '--store-container', join(home, 'none'));
    expect(code).toBe(3);
    expect(stderr).toContain(`looked in Local ${join(home, 'none')}`);
  });
});

describe('verify', () => {
  it('a sound set has exit code 0, on stdout a line per object', async () => {
    const { code, stdout } = await etcdbr('verify', ...store('gardener-zlib-etcd3.6'));
    expect(code).toBe(0);
    expect(stdout.match(/^ok {7}/gm)).toHaveLength(7 + 1);
  });

  it('an empty store is nothing to verify: exit code 3', async () => {
    expect((await etcdbr('verify', '--store-container', join(home, 'none'))).code).toBe(3);
  });
});
