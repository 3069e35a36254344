import { mkdir, writeFile } from 'node:fs/promises';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { MemoryStore } from '../../src/store/memory.js';
import { openStore } from '../../src/store/open-store.js';
import { readSmall } from '../../src/store/read.js';
import { PROVIDER_NAMES } from '../../src/store/registry.js';
import { whereElse } from '../../src/store/where-else.js';
import { removeTempDir, tempDir } from '../servers/process.js';
import { codeOf } from './conformance/material.js';

const NAME = 'Full-00000000-00000001-1700000000.gz';
let dir: string;

beforeEach(() => {
  dir = tempDir('open');
});
afterEach(() => removeTempDir(dir));

it('knows every provider of the Go tool, and says which ones are not there yet', async () => {
  expect([...PROVIDER_NAMES].sort()).toEqual(['ABS', 'ECS', 'GCS', 'Local', 'OCS', 'OSS', 'S3', 'Swift']);
  for (const provider of PROVIDER_NAMES) {
    const opening = openStore({ provider, container: dir, prefix: '', homeDir: dir });
    if (provider === 'Local') expect((await opening).location).toBe(`Local ${dir}`);
    else await expect(opening).rejects.toThrow(/comes with the stores issue/);
  }
});

it('refuses other names and shows the right ones', async () => {
  for (const provider of ['s3', 'toString', 'FTP']) {
    const opening = openStore({ provider, container: dir, prefix: '', homeDir: dir });
    await expect(opening).rejects.toMatchObject({
      code: 'USAGE',
      hint: expect.stringContaining('Local, S3'),
    });
  }
});

it('makes nothing before the first put', async () => {
  const store = await openStore({ provider: '', container: `${dir}/new/deep`, prefix: 'p', homeDir: dir });
  expect(await codeOf(store.head('v2/a'))).toBe('NOT_FOUND');
  await store.delete('v2/a');
  await store.cleanUp('');
  await expect(mkdir(`${dir}/new`)).resolves.toBeUndefined();
});

it('finds backups that the Go tool put below $HOME though the path was absolute', async () => {
  const settings = { provider: 'Local', container: '/backups-of-nobody', prefix: 'team', homeDir: dir };
  expect(await whereElse(settings)).toEqual([]);
  const path = `${dir}/backups-of-nobody/team`;
  await mkdir(`${path}/v2`, { recursive: true });
  await writeFile(`${path}/v2/notes.txt`, '');
  expect(await whereElse(settings)).toEqual([]);
  await writeFile(`${path}/v2/${NAME}`, '');
  const container = `${dir}/backups-of-nobody`;
  expect(await whereElse(settings)).toEqual([{ container, prefix: 'team', path, example: `v2/${NAME}` }]);
  expect(await whereElse({ ...settings, provider: 'S3' })).toEqual([]);
});

it('finds backups when the version was given as part of the prefix', async () => {
  await mkdir(`${dir}/c/team/v2`, { recursive: true });
  await writeFile(`${dir}/c/team/v2/${NAME}`, '');
  const settings = { provider: 'Local', container: `${dir}/c`, prefix: 'team/v2', homeDir: '/nowhere' };
  const [first] = await whereElse(settings);
  expect(first).toMatchObject({ container: `${dir}/c`, prefix: 'team', path: `${dir}/c/team` });
});

it('reads small objects whole and refuses what is larger than expected', async () => {
  const store = new MemoryStore({ chunkBytes: 3 });
  await store.putBytes('v2/manifest/a.json', Buffer.from('0123456789'));
  expect(String(await readSmall(store, 'v2/manifest/a.json', { maxBytes: 10 }))).toBe('0123456789');
  expect(await codeOf(readSmall(store, 'v2/manifest/a.json', { maxBytes: 9 }))).toBe('CORRUPT');
});
