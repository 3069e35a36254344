/** Prefixes that hold "v1" or "v2" themselves: the Go tool gets lost in the first, and appends to the second. */
import { expect, it } from 'vitest';
import { manifestKey, normalizePrefix, objectKey } from '../../src/store/layout.js';
import { localRoot } from '../../src/store/local/open.js';
import { openStore } from '../../src/store/open-store.js';
import { removeTempDir, tempDir } from '../servers/process.js';
import { keysOf, put } from './conformance/material.js';

const PREFIXED = new URL('../fixtures/gardener-prefixed-etcd3.6/store', import.meta.url).pathname;

it('reads what the Go tool wrote with --store-prefix team/cluster-a/v2', async () => {
  const settings = {
    provider: 'Local',
    container: PREFIXED,
    prefix: 'team/cluster-a/v2',
    homeDir: '/nowhere',
  };
  const keys = await keysOf(await openStore(settings), 'v2');
  expect(keys).toHaveLength(7);
  expect(keys[0]).toBe('v2/Full-00000000-00001480-1796074525.gz');
  expect(keys.at(-1)).toBe('v2/Incr-00002730-00002979-1796074535.gz');
  const above = await openStore({ ...settings, prefix: 'team/cluster-a' });
  // There they are the objects of a directory of the name "v2", and no backups of this prefix.
  expect((await keysOf(above, 'v2')).every((key) => key.startsWith('v2/v2/'))).toBe(true);
});

it('keeps apart what lies below prefixes that hold a version', async () => {
  const container = tempDir('layout');
  const name = 'Full-00000000-00000007-1700000000';
  const prefixes = ['', 'env1/main', 'v1', 'v1/v2', 'team', 'team/v2', 'v2'];
  try {
    for (const prefix of prefixes) {
      const store = await openStore({ provider: 'Local', container, prefix, homeDir: '/nowhere' });
      await put(store, objectKey(name), manifestKey(name));
    }
    for (const prefix of prefixes) {
      const store = await openStore({ provider: 'Local', container, prefix, homeDir: '/nowhere' });
      const keys = await keysOf(store, 'v2');
      expect(keys).toContain(`v2/${name}`);
      expect(keys).toContain(`v2/manifest/${name}.json`);
    }
  } finally {
    await removeTempDir(container);
  }
});

it('reads a prefix as the Go tool does, and refuses one that leaves the container', () => {
  expect(normalizePrefix('/team//cluster-a/')).toBe('team/cluster-a');
  expect(normalizePrefix('./.hidden/x')).toBe('.hidden/x');
  expect(normalizePrefix('')).toBe('');
  expect(() => normalizePrefix('team/../../etc')).toThrow(/--store-prefix.*"\.\."/);
  expect(() => normalizePrefix('a\0b')).toThrow(/NUL/);
});

it('takes an absolute container as it is, a relative one from the home directory', () => {
  const homeDir = '/home/backup';
  expect(localRoot({ container: '/backups', prefix: 'team', homeDir })).toBe('/backups/team');
  expect(localRoot({ container: 'backups', prefix: 'team', homeDir })).toBe('/home/backup/backups/team');
  expect(localRoot({ container: '', prefix: '', homeDir })).toBe('/home/backup/default.bkp');
});
