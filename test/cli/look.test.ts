/** `get`, `history`, `diff`, `export` as whole processes: what they print, their exit codes, and that they change nothing. */
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readdir, readFile, stat, truncate } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { fixture } from '../restorer/request.js';
import { recorded, testDir } from '../restorer/set-up.js';
import { copySmallSet, flipBit } from '../restorer/small-set.js';

const program = fileURLToPath(new URL('../../dist/main.js', import.meta.url));
const dir = testDir('cli-look');
const gardener = ['--store-container', fixture('gardener-plain-etcd3.4/store')];
const KEY = '/registry/configmaps/ns-0/obj-000085';

interface Ended {
  readonly code: number | null;
  readonly stdout: Buffer;
  readonly stderr: string;
}

function run(...args: string[]): Promise<Ended> {
  const child = spawn(process.execPath, [program, ...args], { env: { ...process.env, HOME: dir.path } });
  const pieces: Buffer[] = [];
  let stderr = '';
  child.stdout.on('data', (piece: Buffer) => pieces.push(piece));
  child.stderr.on('data', (text) => (stderr += text));
  return new Promise((resolve) =>
    child.once('close', (code) => resolve({ code, stdout: Buffer.concat(pieces), stderr })),
  );
}

describe('get', () => {
  test('prints as etcdctl does, keys and values of any bytes', async () => {
    const source = await recorded('3.6.16', dir.in('work'));
    const pairs: [Buffer, Buffer][] = [
      [Buffer.from('a'), Buffer.from('text\n')],
      [Buffer.from([0x61, 0, 0xff]), Buffer.from([0x1b, 0x5b, 0x32, 0x4a, 0xff])],
      [Buffer.from('a/empty'), Buffer.alloc(0)],
      [Buffer.from('a/ü'), Buffer.from('ü')],
    ];
    for (const [key, value] of pairs) await source.endpoint.kv.put({ key, value });
    const { ID } = await source.endpoint.lease.leaseGrant({ TTL: 3_600 });
    await source.endpoint.kv.put({ key: Buffer.from('a/leased'), value: Buffer.from('x'), lease: ID });
    const file = await source.snapshot();
    const stdout = await source.etcd.ctl('get', '--prefix', 'a', '-w', 'json');
    const json = await run('get', '--prefix', 'a', '--file', file, '--json');
    // As text: numbers above 2^53 would be rounded.
    const kvs = (text: string) => /"kvs":.*/.exec(text)?.[0].trim();
    expect(kvs(json.stdout.toString())).toBe(kvs(stdout));
    const shown = (await run('get', '--prefix', 'a', '--file', file)).stdout.toString('latin1');
    expect(shown).toContain('a\\x00\\xff\n\\x1b[2J\\xff\n');
    expect(Buffer.from(shown, 'latin1').toString()).toContain('a/ü\nü\n');
    const raw = await run('get', 'a', '--value-only', '--file', file);
    expect(raw.stdout).toEqual(Buffer.from('text\n'));
    const live = await run('get', 'a', '--file', join(source.etcd.dataDir, 'member/snap/db'));
    expect(live).toMatchObject({ code: 1, stderr: expect.stringContaining('held by process') });
    await source.etcd.stop();
    const stopped = await run('get', 'a/ü', '--file', join(source.etcd.dataDir, 'member/snap/db'));
    expect(stopped).toMatchObject({ code: 0, stdout: Buffer.from('a/ü\nü\n') });
  });

  test('exit codes: 3 for no such key, 2 for usage, 1 for what is compacted, 4 for damage and for what no object holds', async () => {
    expect(await run('get', 'no such key', ...gardener)).toMatchObject({
      code: 3,
      stderr: expect.stringContaining('no such key: not found at revision 2981'),
    });
    expect(await run('get', '--prefix', 'no such', ...gardener)).toMatchObject({
      code: 0,
      stdout: Buffer.alloc(0),
    });
    expect((await run('get', ...gardener)).code).toBe(2);
    expect((await run('get', KEY, '--at-revision', '0', ...gardener)).code).toBe(2);
    expect((await run('get', KEY, '--at-revision', '4000', ...gardener)).code).toBe(4);
    expect((await run('get', KEY, '--store-container', dir.in('nothing'))).code).toBe(3);
    const compacted = ['--store-container', fixture('gardener-compacted-etcd3.5/store')];
    expect(await run('get', KEY, '--at-revision', '3', ...compacted)).toMatchObject({ code: 3 });
    const { container, names } = await copySmallSet(dir.in('store'));
    await flipBit(`${container}/v2/${names[4]}`, 3_000);
    const damaged = await run('export', '--store-container', container);
    expect(damaged).toMatchObject({ code: 4, stderr: expect.stringContaining(`--exclude ${names[4]}`) });
    await truncate(`${container}/v2/${names[0]}`, 50_000);
    const cut = await run('get', KEY, '--at-revision', '1484', '--store-container', container);
    expect(cut).toMatchObject({ code: 4, stderr: expect.stringContaining(`${names[0]}`) });
  });

  test('a file whose history is compacted says from where on it can be read', async () => {
    const source = await recorded('3.5.35', dir.in('work'));
    await source.put('k', 50);
    await source.endpoint.kv.compact({ revision: '30', physical: true });
    const file = await source.snapshot();
    expect(await run('get', 'k1', '--at-revision', '29', '--file', file)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining(
        'revision 29 is compacted away here; the oldest that can be read is 30',
      ),
    });
    expect((await run('get', 'k1', '--at-revision', '30', '--file', file)).code).toBe(0);
    expect((await run('history', 'k1', '--file', file)).stderr).toContain('up to revision 30 may be missing');
  });
});

test('history and diff, for people and for programs', async () => {
  const history = await run('history', KEY, ...gardener);
  expect(history.code).toBe(0);
  const lines = history.stdout.toString().trimEnd().split('\n');
  expect(lines[0]).toMatch(/REVISION +KIND +VERSION +LEASE +TIME +OBJECT/);
  expect(lines.at(-1)).toMatch(/^ +2418 +put +7 .* 2026-\d\d-\d\dT.*Incr-00002234-00002483/);
  const json = JSON.parse((await run('history', KEY, '--json', ...gardener)).stdout.toString());
  expect(json.changes.length).toBe(lines.length - 1);
  expect(json).toMatchObject({ count: lines.length - 1, header: { revision: 2981 } });
  const args = ['--from-revision', '2000', '--to-revision', '2500', ...gardener];
  const diff = (await run('diff', ...args)).stdout.toString().trimEnd().split('\n');
  const { changes, added, changed, deleted } = JSON.parse(
    (await run('diff', '--json', ...args)).stdout.toString(),
  );
  expect(changes.length).toBe(added + changed + deleted);
  expect(diff.at(-1)).toBe(
    `${added} added, ${changed} changed, ${deleted} deleted from revision 2000 to 2500`,
  );
  expect(diff.length).toBe(changes.length + 1);
  expect((await run('diff', '--from-revision', '2500', '--to-revision', '2000', ...gardener)).code).toBe(2);
});

test('whoever has seen enough may go: no error, exit code 0', async () => {
  const child = spawn(process.execPath, [program, 'export', ...gardener]);
  let stderr = '';
  child.stderr.on('data', (text) => (stderr += text));
  const closed = new Promise((resolve) => child.once('close', resolve));
  child.stdout.once('data', () => child.stdout.destroy());
  expect(await closed).toBe(0);
  expect(stderr).toBe('');
});

test('hazard 26: a look leaves no trace in the store, and none beside it', async () => {
  const { container } = await copySmallSet(dir.in('store'));
  const before = await traces(container);
  const args = ['--store-container', container, '--snapstore-temp-directory', dir.in('tmp')];
  for (const command of [['get', KEY], ['history', KEY], ['diff', '--from-revision', '1500'], ['export']])
    expect((await run(...command, ...args)).code).toBe(0);
  expect(await traces(container)).toEqual(before);
  expect(await readdir(dir.in('tmp'))).toEqual([]);
});

async function traces(container: string): Promise<string[]> {
  const names = await readdir(container, { recursive: true });
  const found = names.sort().map(async (name) => {
    const path = join(container, name);
    const { size, mtimeMs, ctimeMs } = await stat(path);
    const content = (await stat(path)).isFile() ? await readFile(path) : '';
    return [name, size, mtimeMs, ctimeMs, createHash('sha256').update(content).digest('hex')].join(' ');
  });
  return Promise.all(found);
}
