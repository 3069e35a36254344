/** What is remembered: the next run reads only what is new, and nothing that has changed is believed. */
import { appendFile, mkdir, readdir, readFile, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { LocalStore } from '../../src/store/local/local-store.js';
import { removeTempDir } from '../servers/process.js';
import { type OurSet, ourSet } from './our-set.js';
import { damagedOf, problemsOf, VerifyPlace } from './verify-place.js';

let set: OurSet;
let place: VerifyPlace;
beforeAll(async () => {
  set = await ourSet('3.5.35', { seed: 2 });
}, 60_000);
afterAll(() => set.remove());
beforeEach(async () => {
  place = await VerifyPlace.copyOf(set.container);
});
afterEach(() => removeTempDir(place.dir));

const STATE = { stateDir: 'state' };
/** Manifests are read each time, to plan; objects are not. */
const MANIFESTS = 5;
const stateFile = async () => {
  const [name] = await readdir(join(place.dir, 'state'));
  return join(place.dir, 'state', name as string);
};

describe('with --state-dir', () => {
  test('the second run reads no object and says the same', async () => {
    const first = await place.verify(STATE);
    expect(place.gets).toBe(MANIFESTS + 5);
    const second = await place.verify(STATE);
    expect(place.gets).toBe(MANIFESTS);
    expect(second.chain).toEqual(first.chain);
    expect(second.objects).toEqual(first.objects.map((verdict) => ({ ...verdict, remembered: true })));
    expect(second.totals).toMatchObject({ objects: 5, readObjects: 0, readBytes: 0 });
    expect(place.notes).toEqual([]);
    expect((await stat(await stateFile())).mode & 0o777).toBe(0o600);
  });

  test('only what is new is read', async () => {
    const newest = set.deltas[2] as string;
    const bytes = await readFile(place.path(newest));
    await rm(place.path(newest));
    await place.verify(STATE);
    await writeFile(place.path(newest), bytes);
    const { objects } = await place.verify(STATE);
    expect(objects.filter(({ remembered }) => !remembered).map(({ object }) => object)).toEqual([newest]);
  });

  test('--again, a name, and an age that is over, each read', async () => {
    await place.verify(STATE);
    await place.verify({ ...STATE, again: true });
    expect(place.gets).toBe(MANIFESTS + 5);
    await place.verify({ ...STATE, names: [set.fulls[0] as string] });
    expect(place.gets).toBe(MANIFESTS + 1);
    await sleep(5);
    await place.verify({ ...STATE, maxAgeMs: 1 });
    expect(place.gets).toBe(MANIFESTS + 5);
  });

  test('an object that was changed in place is read again, and found damaged', async () => {
    const name = set.deltas[0] as string;
    await place.verify(STATE);
    await place.flip(name, 200);
    const verdict = await place.verify(STATE);
    expect(damagedOf(verdict)).toEqual([name]);
    expect(place.gets).toBe(MANIFESTS + 1);
    // And each time: damage is not remembered, nor is what was known before it.
    expect(damagedOf(await place.verify(STATE))).toEqual([name]);
  });

  test('what was repaired is sound again', async () => {
    const name = set.fulls[1] as string;
    const bytes = await readFile(place.path(name));
    await place.flip(name, 5_000);
    expect(damagedOf(await place.verify(STATE))).toEqual([name]);
    await writeFile(place.path(name), bytes);
    expect(damagedOf(await place.verify(STATE))).toEqual([]);
  });

  test('a change that leaves length and time as they were is found by --again', async () => {
    const name = set.deltas[1] as string;
    await utimes(place.path(name), 1_700_000_000, 1_700_000_000);
    await place.verify(STATE);
    await place.changeUnseen(name, 200);
    expect(damagedOf(await place.verify(STATE))).toEqual([]);
    expect(damagedOf(await place.verify({ ...STATE, again: true }))).toEqual([name]);
  });

  test('a manifest that states something else makes its object be read again', async () => {
    const name = set.fulls[0] as string;
    await place.verify(STATE);
    const manifest = JSON.parse(await readFile(place.manifest(name), 'utf8'));
    await writeFile(place.manifest(name), JSON.stringify({ ...manifest, sha256: 'a'.repeat(64) }));
    expect(problemsOf(await place.verify(STATE), name)).toContain('states aaaa');
  });

  test('what is gone is forgotten', async () => {
    await place.verify(STATE);
    const name = set.deltas[2] as string;
    await rm(place.path(name));
    expect((await readFile(await stateFile(), 'utf8')).includes(`"object":"${name}"`)).toBe(true);
    await place.verify(STATE);
    expect((await readFile(await stateFile(), 'utf8')).includes(`"object":"${name}"`)).toBe(false);
  });

  test('stores do not share what is remembered', async () => {
    await place.verify(STATE);
    const other = await VerifyPlace.copyOf(place.container);
    await other.verify({ stateDir: `../${place.dir.split('/').at(-1)}/state` });
    expect(other.gets).toBe(MANIFESTS + 5);
    await removeTempDir(other.dir);
  });
});

describe('a memory that is broken costs time and nothing else', () => {
  test.each<[string, (path: string) => Promise<void>, number]>([
    ['rubbish', (path) => writeFile(path, 'rubbish'), 5],
    ['empty', (path) => writeFile(path, ''), 5],
    ['a line cut short', async (path) => writeFile(path, (await readFile(path, 'utf8')).slice(0, -30)), 1],
    [
      'a digit changed',
      async (path) => writeFile(path, (await readFile(path, 'utf8')).replace(/"bytes":\d/, '"bytes":9')),
      1,
    ],
    ['a torn append', (path) => appendFile(path, '1234abcd {"kind":"obj'), 0],
  ])('%s', async (_, damage, readAgain) => {
    await place.verify(STATE);
    await damage(await stateFile());
    const verdict = await place.verify(STATE);
    expect(damagedOf(verdict)).toEqual([]);
    expect(verdict.totals.readObjects).toBe(readAgain);
    place.notes.length = 0;
    expect((await place.verify(STATE)).totals.readObjects).toBe(0);
    expect(place.notes).toEqual([]);
  });

  test('a state dir that cannot be written is a note, once', async () => {
    await mkdir(join(place.dir, 'state'));
    await writeFile(join(place.dir, 'blocked'), '');
    const verdict = await place.verify({ stateDir: 'blocked/below' });
    expect(verdict.objects).toHaveLength(5);
    expect(damagedOf(verdict)).toEqual([]);
    expect(place.notes.filter((note) => note.includes('are not remembered'))).toHaveLength(1);
  });
});

describe('with --remember', () => {
  test('results lie in the store, one object, and the next run reads none of the backups', async () => {
    await place.verify({ remember: true });
    expect(await readdir(place.path('verified'))).toHaveLength(1);
    const second = await place.verify({ remember: true });
    expect(second.totals.readObjects).toBe(0);
    expect(second.chain?.notes).toEqual([]);
    expect(place.puts).toBe(0);
    await place.verify({ remember: true, again: true });
    expect(await readdir(place.path('verified'))).toHaveLength(1);
  });

  test('a store that takes nothing is a note', async () => {
    const store = new LocalStore({ root: place.container });
    store.putBytes = () => Promise.reject(new Error('read-only'));
    expect((await place.verify({ remember: true, store })).objects).toHaveLength(5);
    expect(place.notes).toEqual([expect.stringContaining('are not remembered in the store: read-only')]);
  });

  test('without it nothing is written, and what lies there is not believed', async () => {
    await place.verify({ remember: true });
    expect((await place.verify()).totals.readObjects).toBe(5);
    expect(place.puts).toBe(0);
  });
});

describe('a run that is stopped', () => {
  test('keeps what is done; the next one goes on from there', async () => {
    const aborter = new AbortController();
    let told = 0;
    const stopped = place.verify({
      ...STATE,
      maxVerifiers: 1,
      signal: aborter.signal,
      onVerdict: () => {
        told += 1;
        if (told === 2) aborter.abort('SIGINT');
      },
    });
    await expect(stopped).rejects.toMatchObject({
      code: 'CANCELLED',
      message: expect.stringContaining('after 2 of 5 objects'),
      hint: expect.stringContaining('goes on from there'),
    });
    expect((await place.verify(STATE)).totals.readObjects).toBe(3);
  });

  test('in the middle of an object leaves nothing of it behind', async () => {
    const aborter = new AbortController();
    const stopped = place.verify({
      signal: aborter.signal,
      onProgress: () => aborter.abort('SIGTERM'),
    });
    await expect(stopped).rejects.toMatchObject({ code: 'CANCELLED' });
  });
});

test('an object that is deleted while the run is on is no damage', async () => {
  const gone = set.deltas[2] as string;
  const verdict = await place.verify({
    maxVerifiers: 1,
    onVerdict: () => void rm(place.path(gone), { force: true }),
  });
  expect(verdict.gone).toEqual([gone]);
  expect(damagedOf(verdict)).toEqual([]);
  expect(verdict.chain?.plan.kind).toBe('ready');
});
