/** Deltas fetched ahead (R2): order never depends on arrival, windows hold, failures name their object, abort is prompt. */
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { beforeEach, describe, expect, test } from 'vitest';
import { hashFile } from '../../src/native/index.js';
import { readCatalog } from '../../src/pipeline/catalog.js';
import { DeltaStream, type FetchSource, fetchFile } from '../../src/pipeline/fetch.js';
import { FetchPool } from '../../src/pipeline/pool.js';
import type { StoredSnapshot } from '../../src/snapshot/plan.js';
import { openStore } from '../../src/store/open-store.js';
import { fixture } from '../restorer/request.js';
import { cleanUp, testDir } from '../restorer/set-up.js';

const dir = testDir('pipeline');
const container = fixture('gardener-gzip-etcd3.5/store');
const ALL_BYTES = 1 << 30;

let objects: StoredSnapshot[];
let full: StoredSnapshot;
beforeEach(async () => {
  const store = await openStore({ provider: 'Local', container, prefix: '', homeDir: '/' });
  const all = (await readCatalog(store)).objects;
  objects = all
    .filter(({ name }) => name.kind === 'delta')
    .sort((a, b) => Number(a.name.start - b.name.start));
  full = all.find(({ name }) => name.kind === 'full') as StoredSnapshot;
});

async function source(faults: Record<string, object>, maxFetchers = 6): Promise<FetchSource> {
  await writeFile(dir.in('faults.json'), JSON.stringify(faults));
  const pool = new FetchPool({ maxFetchers, workerUrl: new URL('faulty-worker.mjs', import.meta.url) });
  cleanUp(() => pool.close());
  const settings = { provider: 'Local', container, prefix: '', homeDir: dir.path };
  return { pool, settings, workDir: dir.path };
}

function nameOf(at: number): string {
  return (objects[at] as StoredSnapshot).name.text;
}

async function filesLeft(): Promise<string[]> {
  return (await readdir(dir.path)).filter((name) => name.includes('Incr-'));
}

async function reads(): Promise<string[]> {
  return (await readFile(dir.in('reads.log'), 'utf8')).trim().split('\n');
}

function prepareDeltas(...args: ConstructorParameters<typeof DeltaStream>) {
  return new DeltaStream(...args)[Symbol.asyncIterator]();
}

describe('order and windows', () => {
  test('a slow object does not reorder, and each file is gone once the next is asked for', async () => {
    const from = await source({ [nameOf(0)]: { slowMs: 300 }, [nameOf(3)]: { slowMs: 200 } });
    const seen: string[] = [];
    for await (const delta of prepareDeltas(from, objects, { maxInflightBytes: ALL_BYTES })) {
      seen.push(delta.object);
      expect(delta.path.endsWith('.ebd')).toBe(true);
      expect((await filesLeft()).some((name) => name.includes(delta.object))).toBe(true);
      expect(await filesLeft()).not.toContain(seen.at(-2));
    }
    expect(seen).toEqual(objects.map(({ name }) => name.text));
    expect(await filesLeft()).toEqual([]);
  });

  test.each([
    [2, ALL_BYTES, 2],
    [6, 50_000, 2],
    [6, 1, 1],
  ])('%d objects and %d bytes: %d at a time', async (maxFetchers, maxInflightBytes, atATime) => {
    const from = await source({}, maxFetchers);
    const deltas = prepareDeltas(from, objects, { maxInflightBytes });
    await deltas.next();
    await sleep(500);
    expect((await reads()).length).toBe(atATime);
    for await (const _ of deltas);
    expect((await reads()).length).toBe(objects.length);
  });
});

describe('failures', () => {
  test('a read that breaks goes on at the byte where it broke', async () => {
    const from = await source({ [nameOf(1)]: { failAt: [5_000, 12_000] } });
    const seen: bigint[] = [];
    for await (const { lastRevision } of prepareDeltas(from, objects, { maxInflightBytes: ALL_BYTES }))
      seen.push(lastRevision);
    expect(seen.at(-1)).toBe(2989n);
    expect((await reads()).filter((line) => line.startsWith(nameOf(1)))).toEqual(
      [0, 5_000, 12_000].map((at) => `${nameOf(1)} ${at}`),
    );
  });

  test('an object that keeps failing ends the run with its name, at once, and nothing is left', async () => {
    const from = await source({ [nameOf(4)]: { failAt: [10, 10, 10, 10] }, [nameOf(0)]: { hang: true } });
    const started = performance.now();
    const next = prepareDeltas(from, objects, { maxInflightBytes: ALL_BYTES })[Symbol.asyncIterator]().next();
    await expect(next).rejects.toMatchObject({ code: 'UNAVAILABLE', object: nameOf(4) });
    expect(performance.now() - started).toBeLessThan(5_000);
    expect(await filesLeft()).toEqual([]);
  });

  test('an object that is not what its name says is CORRUPT', async () => {
    const [first, second] = objects as [StoredSnapshot, StoredSnapshot];
    const wrong = { ...first, key: second.key, bytes: second.bytes };
    const next = prepareDeltas(await source({}), [wrong], { maxInflightBytes: ALL_BYTES }).next();
    await expect(next).rejects.toMatchObject({ code: 'CORRUPT', object: first.name.text });
  });

  test('an object that is shorter than listed is TRUNCATED', async () => {
    const [first] = objects as [StoredSnapshot];
    const next = prepareDeltas(await source({}), [{ ...first, bytes: first.bytes + 1 }], {
      maxInflightBytes: ALL_BYTES,
    }).next();
    await expect(next).rejects.toMatchObject({ code: 'TRUNCATED', object: first.name.text });
  });
});

test.each([
  ['that is not there', 'none.mjs', undefined],
  ['that ends', 'crash.mjs', 'export default () => process.exit(3);'],
  [
    'that throws by itself',
    'throw.mjs',
    'export default () => { setTimeout(() => { throw new Error("boom"); }); return new Promise(() => {}); };',
  ],
])('a worker %s fails the run instead of hanging it', async (_, file, text) => {
  if (text !== undefined) await writeFile(dir.in(file), text);
  const { settings } = await source({});
  const pool = new FetchPool({ maxFetchers: 2, workerUrl: pathToFileURL(dir.in(file)) });
  const deltas = prepareDeltas({ pool, settings, workDir: dir.path }, objects, {
    maxInflightBytes: ALL_BYTES,
  });
  await expect(deltas.next()).rejects.toMatchObject({
    code: 'INTERNAL',
    object: expect.stringContaining('Incr-'),
  });
  await pool.close();
});

describe('abort', () => {
  test('of a hanging fetch is prompt, cooperative, and leaves nothing', async () => {
    const from = await source({ [nameOf(0)]: { hang: true } });
    const aborter = new AbortController();
    const deltas = prepareDeltas(from, objects, { maxInflightBytes: ALL_BYTES, signal: aborter.signal });
    const next = deltas.next();
    await sleep(400);
    const started = performance.now();
    aborter.abort(new Error('enough'));
    await expect(next).rejects.toThrow('enough');
    expect(performance.now() - started).toBeLessThan(1_000);
    expect(await filesLeft()).toEqual([]);
    const again = prepareDeltas(await source({}), objects.slice(0, 2), { maxInflightBytes: ALL_BYTES });
    for await (const _ of again);
  });

  test('leaving early stops the rest', async () => {
    const from = await source({ [nameOf(3)]: { hang: true } });
    for await (const _ of prepareDeltas(from, objects, { maxInflightBytes: ALL_BYTES })) break;
    expect(await filesLeft()).toEqual([]);
  });
});

describe('one large object', () => {
  test('comes in ranges, several at a time, and is byte for byte the same', async () => {
    const from = await source({ [full.name.text]: { failAt: [20_000] } });
    const done: number[] = [];
    await fetchFile(from, full, dir.in('copy'), {
      rangeBytes: 30_000,
      onProgress: (bytes) => done.push(bytes),
    });
    expect(await hashFile(dir.in('copy'))).toEqual(await hashFile(join(container, full.key)));
    expect(done.at(-1)).toBe(full.bytes);
    expect((await reads()).length).toBeGreaterThanOrEqual(4);
  });

  test('that fails in one range is removed whole', async () => {
    const from = await source({
      [full.name.text]: { failAt: [1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1], code: 'PERMISSION' },
    });
    const fetching = fetchFile(from, full, dir.in('copy'), { rangeBytes: 30_000 });
    await expect(fetching).rejects.toMatchObject({ code: 'PERMISSION', object: full.name.text });
    expect(await readdir(dir.path)).not.toContain('copy');
  });
});
