/** What engines answer, against a build that is a script with some help texts. */
import { chmod, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { etcdbr } from '../../bench/engines/etcdbr.js';
import { copying, decompressing, digesting, reading } from '../../bench/engines/floor.js';
import { goTool } from '../../bench/engines/go-tool.js';
import { measure } from '../../bench/measure.js';
import { LimitedGroup } from '../../bench/memory-limit.js';
import { removeTempDir, tempDir } from '../servers/process.js';

const WHOLE_HELP = 'Usage: etcdbr [options] [command]';
const set = { container: '/backups/store', gardener: false };
const restoring = { verb: 'restore', set, dataDir: '/work/restored' } as const;

let dir: string;
beforeEach(() => {
  dir = tempDir('bench-engines');
});
afterEach(() => removeTempDir(dir));

async function build(helps: Readonly<Record<string, string>>): Promise<string> {
  const dist = join(dir, 'dist');
  await mkdir(dist);
  const cases = Object.entries(helps).map(([command, help]) => `${command}) echo '${help}';;`);
  await writeFile(
    join(dist, 'main.js'),
    `#!/bin/sh\ncase $1 in ${cases.join(' ')} *) echo '${WHOLE_HELP}';; esac\n`,
  );
  await chmod(join(dist, 'main.js'), 0o755);
  return dist;
}

describe('this program', () => {
  test('a command or an applier that the build lacks is a reason, not a figure', async () => {
    const dist = await build({ restore: 'Usage: etcdbr restore\n --applier <embedded> what applies' });
    const ours = etcdbr('native', dist);
    expect(ours.job(restoring)).toBe('this build\'s restore has no applier "native"');
    expect(ours.job({ verb: 'get', set, key: 'k' })).toBe('this build has no command "get"');
    expect(ours.job({ verb: 'compact', set })).toBe('this build has no command "compact"');
  });

  test('what it has is run, each applier by its name', async () => {
    const help = 'Usage: etcdbr restore\n --applier <native|embedded> what applies';
    const dist = await build({ restore: help, get: 'Usage: etcdbr get KEY' });
    for (const applier of ['native', 'embedded'] as const) {
      const job = etcdbr(applier, dist).job(restoring);
      expect(job).toMatchObject({ command: join(dist, 'main.js') });
      expect(job).toMatchObject({ args: expect.arrayContaining(['--applier', applier, '/work/restored']) });
    }
    expect(etcdbr('native', dist).job({ verb: 'get', set, key: 'k' })).toMatchObject({
      args: expect.arrayContaining(['get', 'k', '/backups/store']),
    });
  });

  test('a checkout that is not built is told so', () => {
    expect(() => etcdbr('native', dir)).toThrow(/main\.js is missing: npm run build/);
  });
});

test('the Go tool is asked for its own formats only, and only when there is one', () => {
  const theirs = { ...restoring, set: { ...set, gardener: true } };
  expect(goTool('/go').job(restoring)).toBeUndefined();
  expect(goTool(undefined).job(theirs)).toBe('no --peer PATH was given');
  expect(goTool('/go').job(theirs)).toMatchObject({ command: '/go', env: { HOME: '/backups' } });
});

test('the floors do what they say', async () => {
  const file = join(dir, 'a');
  await writeFile(file, 'bytes');
  const run = async (job: unknown) => measure(job as Parameters<typeof measure>[0]);
  await run(reading.job({ verb: 'read', file }));
  await run(copying.job({ verb: 'copy', file, to: join(dir, 'b') }));
  expect(await readFile(join(dir, 'b'), 'utf8')).toBe('bytes');
  const { stdout } = await run(digesting.job({ verb: 'digest', file }));
  expect(stdout).toContain('277089d91c0bdf4f2e6862ba7e4a07605119431f5d13f726dd352b06f1b206a9');
  await run({ command: 'gzip', args: [file] });
  await run(decompressing.job({ verb: 'decompress', packed: `${file}.gz` }));
  await writeFile(`${file}.gz`, 'no gzip');
  await expect(run(decompressing.job({ verb: 'decompress', packed: `${file}.gz` }))).rejects.toThrow(/gz/);
});

test('a limited process is in a control group of its own, or there is a reason why not', async () => {
  const group = await LimitedGroup.create(64 * 1024 ** 2);
  if (typeof group === 'string') return expect(group).toMatch(/^no control group can be made: ./);
  try {
    const { stdout } = await measure(group.wrap({ command: 'cat', args: ['/proc/self/cgroup'] }));
    expect(stdout).toContain(`etcdbr-bench-${process.pid}`);
  } finally {
    await group.remove();
  }
});
