/** Base and deltas become one full: nothing lost, nothing removed, and whoever backs up goes on behind it. */
import { cp, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { type CompactedStore, type CompactRequest, compactStore } from '../../src/compactor/compact.js';
import { compactDryRun } from '../../src/compactor/dry-run.js';
import { parseCompactConfig } from '../../src/config/compact.js';
import { readCatalog } from '../../src/pipeline/catalog.js';
import { openStore } from '../../src/store/open-store.js';
import { verifySet } from '../../src/validator/verify-set.js';
import { given } from '../config/given.js';
import { fixture, restoreFrom } from '../restorer/request.js';
import { expectRestored, recorded, testDir } from '../restorer/set-up.js';
import { copySmallSet, flipBit, SMALL_SET_REVISION } from '../restorer/small-set.js';
import { ETCD_VERSIONS } from '../servers/binaries.js';
import { Load } from '../servers/load.js';
import { readTruth } from '../servers/truth.js';

const dir = testDir('compactor');

async function requestFor(container: string, flags: Record<string, string[]> = {}): Promise<CompactRequest> {
  const settings = { provider: 'Local', container, prefix: '', homeDir: '/nowhere' };
  return {
    ...parseCompactConfig(given(flags), 'etcdbr'),
    ...{ store: await openStore(settings), settings, tempDir: dir.in('temp'), command: 'etcdbr compact' },
    observer: { progress: () => undefined, warn: () => undefined, info: () => undefined },
  };
}

async function compacted(container: string, flags: Record<string, string[]> = {}): Promise<CompactedStore> {
  const result = await compactStore(await requestFor(container, flags));
  if (!result.done) throw new Error(result.why);
  expect(await readdir(dir.in('temp'))).toEqual([]);
  return result;
}

const names = async (container: string) =>
  (await readdir(join(container, 'v2'))).filter((name) => name !== 'manifest').sort();

describe.each(ETCD_VERSIONS)('etcd %s', (version) => {
  test('the merged full restores to the same, and deltas go on behind it', async () => {
    const source = await recorded(version, dir.in('work'));
    const store = dir.in('store');
    const load = new Load(source.endpoint, { seed: 51, keys: 150 });
    await load.run(150);
    await source.full(store);
    for (const format of ['ebd', 'json'] as const) {
      const from = (await source.revision()) + 1n;
      await load.run(80);
      await source.store(store, await source.delta(from, format));
    }
    const before = await names(store);
    const truth = await readTruth(source.endpoint);
    const result = await compacted(store);
    expect(result).toMatchObject({
      ...{ revision: truth.revision, compactRevision: truth.revision, deltas: 2, keys: truth.keys.length },
    });
    expect(await names(store)).toEqual([...before, result.name].sort());

    await source.put('later', 10);
    await source.store(store, await source.delta(truth.revision + 1n));
    const restored = await restoreFrom({ container: store, dataDir: dir.in('data'), version });
    expect(restored.plan.base.name.text).toBe(result.name);
    expect(restored.plan.deltas).toHaveLength(1);
    await expectRestored(version, dir.in('data'), await readTruth(source.endpoint), { leases: false });

    const opened = await requestFor(store);
    const verdict = await verifyAll(opened);
    expect(verdict).toEqual([]);
  });
});

/** Read through, and the merged full held against the full before it and the deltas between, record by record. */
async function verifyAll({ store }: CompactRequest): Promise<string[]> {
  const verdict = await verifySet(store, {
    ...{ names: [], tempDir: dir.in('temp'), maxVerifiers: 2, deep: true, again: true, maxAgeMs: 0 },
    keepers: () => [],
  });
  expect(verdict.deep.map(({ outcome }) => outcome)).toEqual(['equal']);
  expect(verdict.chain?.plan.kind).toBe('ready');
  return verdict.objects.flatMap(({ problems }) => problems);
}

describe('sets of the Go tool', () => {
  test.each([
    ['gardener-gzip-etcd3.5', '.gz'],
    ['gardener-zlib-etcd3.6', '.zlib'],
    ['gardener-lzw-etcd3.7', '.Z'],
    ['gardener-compacted-etcd3.5', '.gz'],
  ])('%s stays as it is compressed', async (set, suffix) => {
    await cp(fixture(`${set}/store`), dir.in('store'), { recursive: true });
    const result = await compacted(dir.in('store'));
    expect(result.name.endsWith(suffix)).toBe(true);
    const { objects } = await readCatalog((await requestFor(dir.in('store'))).store);
    const full = objects.find(({ name }) => name.text === result.name);
    expect(full?.manifest).toMatchObject({ revision: result.revision, compactRevision: result.revision });
    const restored = await restoreFrom({ container: dir.in('store'), dataDir: dir.in('data') });
    expect(restored.plan).toMatchObject({ revision: result.revision, deltas: [] });
    expect(restored.proof.hashes).toContain(result.revision);
  });

  test('another compression when it is asked for', async () => {
    const { container } = await copySmallSet(dir.in('store'));
    const { name } = await compacted(container, { 'compression-policy': ['zstd'] });
    expect(name).toMatch(/^Full-00000000-00002981-\d+\.zst$/);
  });
});

test('once compacted there is nothing to do', async () => {
  const { container } = await copySmallSet(dir.in('store'));
  const first = await compacted(container);
  const before = await names(container);
  const again = await compactStore(await requestFor(container));
  expect(again).toEqual({
    done: false,
    why: `${first.name} has no deltas behind it, compacted at revision ${SMALL_SET_REVISION}`,
    revision: SMALL_SET_REVISION,
  });
  expect(await names(container)).toEqual(before);
});

test('--keep-history merges and keeps every revision', async () => {
  const { container } = await copySmallSet(dir.in('store'));
  const old = await restoreFrom({ container, dataDir: dir.in('old'), version: '3.4.23' });
  const result = await compacted(container, { 'keep-history': ['true'] });
  expect(result.compactRevision).toBe(old.proof.info.compactRevision);
  const merged = await restoreFrom({ container, dataDir: dir.in('new'), version: '3.4.23' });
  expect(merged.plan).toMatchObject({ deltas: [], revision: SMALL_SET_REVISION });
  expect(merged.proof.liveKeys).toBe(old.proof.liveKeys);
  expect(merged.base.info.lastRecord).toEqual(old.proof.info.lastRecord);
});

test('bounds below which it is not worth it', async () => {
  const { container } = await copySmallSet(dir.in('store'));
  const before = await names(container);
  for (const flags of [{ 'min-delta-bytes': ['999999999'] }, { 'min-restore-time': ['1h'] }]) {
    const result = await compactStore(await requestFor(container, flags as never));
    expect(result).toMatchObject({ done: false, why: expect.stringContaining('are below') });
  }
  expect(await names(container)).toEqual(before);
  const both = { 'min-delta-bytes': ['1'], 'min-restore-time': ['1h'] };
  expect(await compactStore(await requestFor(container, both))).toMatchObject({ done: true });
});

describe('what is damaged is named, and nothing is stored', () => {
  test('a delta, a base and a gap', async () => {
    const { container, names: set } = await copySmallSet(dir.in('store'));
    const [full = '', , delta = ''] = set;
    await flipBit(join(container, 'v2', delta), 500);
    await refused(container, /CHECKSUM|CORRUPT/, delta);
    await rm(join(container, 'v2', delta));
    await refused(container, /REVISION_GAP/);
    await flipBit(join(container, 'v2', full), 9000);
    await refused(container, /CHECKSUM/, full);
  });

  test('an empty store', async () => {
    await refused(dir.in('nothing'), /NOTHING_TO_RESTORE/);
  });

  async function refused(container: string, code: RegExp, object?: string): Promise<void> {
    const before = await names(container).catch(() => []);
    const error = await compactStore(await requestFor(container)).catch((reason) => reason);
    expect(error).toMatchObject({
      code: expect.stringMatching(code),
      ...(object === undefined ? {} : { message: expect.stringContaining(object) }),
    });
    expect(await names(container).catch(() => [])).toEqual(before);
    expect(await readdir(dir.in('temp'))).toEqual([]);
  }
});

test('stopped in the middle it stores nothing and leaves nothing', async () => {
  const { container } = await copySmallSet(dir.in('store'));
  const before = await names(container);
  const stop = new AbortController();
  const request = await requestFor(container);
  const progress = (stage: string) => stage === 'read deltas' && stop.abort('SIGINT');
  const observer = { ...request.observer, progress };
  const stopped = compactStore({ ...request, observer: observer as never, signal: stop.signal });
  await expect(stopped).rejects.toMatchObject({
    code: 'CANCELLED',
    message: expect.stringContaining('stopped (SIGINT); nothing was stored'),
  });
  expect(await names(container)).toEqual(before);
  expect(await readdir(dir.in('temp'))).toEqual([]);
});

test('a dry run tells and changes nothing', async () => {
  const { container } = await copySmallSet(dir.in('store'));
  const before = await names(container);
  const { estimate } = await compactDryRun(await requestFor(container));
  expect(estimate).toMatchObject({ revision: SMALL_SET_REVISION, notWorthIt: undefined });
  expect(estimate?.objects.length).toBe(before.length);
  expect(await names(container)).toEqual(before);
});
