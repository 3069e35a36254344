/** Every kind of damage, in a full, a delta or a manifest, is found and named, and the others are verified all the same. */
import { copyFile, readFile, rm, truncate, writeFile } from 'node:fs/promises';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { removeTempDir } from '../servers/process.js';
import { type OurSet, ourSet } from './our-set.js';
import { damagedOf, problemsOf, VerifyPlace } from './verify-place.js';

let set: OurSet;
let place: VerifyPlace;
beforeAll(async () => {
  set = await ourSet('3.6.16');
}, 60_000);
afterAll(() => set.remove());
beforeEach(async () => {
  place = await VerifyPlace.copyOf(set.container);
});
afterEach(() => removeTempDir(place.dir));

const full = () => set.fulls[0] as string;
const delta = () => set.deltas[1] as string;

type Stated = Record<string, object>;

async function edit(path: string, change: (json: Stated) => object): Promise<void> {
  await writeFile(path, JSON.stringify(change(JSON.parse(await readFile(path, 'utf8')))));
}

test('a set of ours is sound: objects, chain, and all that its manifests state', async () => {
  const verdict = await place.verify();
  expect(damagedOf(verdict)).toEqual([]);
  expect(verdict.objects).toHaveLength(5);
  expect(verdict.chain).toMatchObject({ plan: { kind: 'ready' }, problems: [], notes: [] });
  expect(verdict.manifests).toEqual([]);
  expect(verdict.chain?.restorable).toHaveLength(1);
  expect(verdict.totals).toMatchObject({ objects: 5, readObjects: 5 });
  // Every object and every manifest, once.
  expect(place.gets).toBe(10);
});

describe('hazard 23, 25: damage to an object is named, exit 4, the others are read all the same', () => {
  const bytesOf = async (name: string) => (await readFile(place.path(name))).length;
  const half = async (name: string) => Math.floor((await bytesOf(name)) / 2);
  test.each<[string, () => string, (name: string) => Promise<void>, RegExp]>([
    ['a full, first bytes', full, (name) => place.flip(name, 1), /zstd|decompress/],
    ['a full, middle', full, async (name) => place.flip(name, await half(name)), /decompress|SHA-256/],
    ['a full, seek table', full, (name) => place.flip(name, -12), /SHA-256/],
    [
      'a full, cut',
      full,
      async (name) => truncate(place.path(name), await half(name)),
      /ends in the middle|bytes/,
    ],
    ['a full, empty', full, (name) => truncate(place.path(name), 0), /bytes|something else|ends/],
    [
      'a full, longer',
      full,
      (name) => writeFile(place.path(name), 'more', { flag: 'a' }),
      /SHA-256|decompress/,
    ],
    ['a delta, header', delta, (name) => place.flip(name, 20), /header|checksum/i],
    ['a delta, block', delta, async (name) => place.flip(name, await half(name)), /CRC|checksum|block/i],
    ['a delta, trailer', delta, (name) => place.flip(name, -10), /trailer|SHA-256|digest/i],
    ['a delta, cut', delta, async (name) => truncate(place.path(name), await half(name)), /trailer|ends/i],
    ['a delta, empty', delta, (name) => truncate(place.path(name), 0), /empty|ends|nothing|JSON/i],
  ])('%s', async (_, nameOf, damage, expected) => {
    const name = nameOf();
    await damage(name);
    const verdict = await place.verify();
    expect(damagedOf(verdict)).toEqual([name]);
    expect(problemsOf(verdict, name)).toMatch(expected);
    expect(verdict.objects).toHaveLength(5);
  });

  test('another sound full, or delta, under its name', async () => {
    await copyFile(place.path(set.fulls[1] as string), place.path(full()));
    await copyFile(place.path(set.deltas[0] as string), place.path(delta()));
    const verdict = await place.verify();
    expect(damagedOf(verdict).sort()).toEqual([full(), delta()].sort());
    expect(problemsOf(verdict, full())).toMatch(/SHA-256.*\n.*bytes|it holds revision/s);
    expect(problemsOf(verdict, delta())).toContain('its name says');
  });
});

describe('damage to a manifest', () => {
  test.each<[string, string]>([
    ['cut', '{"version": 1,'],
    ['not JSON', '\0\0'],
    ['of another object', '{"version":1,"name":"Full-00000000-00000001-1"}'],
    ['empty', ''],
  ])('%s: it is named, and the object is sound without it', async (_, text) => {
    await writeFile(place.manifest(full()), text);
    const verdict = await place.verify();
    expect(damagedOf(verdict)).toEqual([]);
    const expected = [{ object: full(), text: expect.stringContaining('read manifest') }];
    expect(verdict.manifests).toEqual(expected);
    expect((await place.verify({ names: [full()] })).manifests).toEqual(expected);
    expect((await place.verify({ names: [delta()] })).manifests).toEqual([]);
  });

  test.each<[string, () => string, (json: Stated) => object, RegExp]>([
    ['digest of a full', full, (json) => ({ ...json, sha256: 'a'.repeat(64) }), /SHA-256 is .* states a{64}/],
    [
      'HashKV',
      full,
      ({ hashKv, ...json }) => ({ ...json, hashKv: Object.assign({}, hashKv, { hash: 7 }) }),
      /HashKV/,
    ],
    ['revision', full, (json) => ({ ...json, revision: '5' }), /holds revision \d+, its manifest states 5/],
    ['digest of a delta', delta, (json) => ({ ...json, sha256: 'b'.repeat(64) }), /states b{64}/],
    ['events', delta, (json) => ({ ...json, events: 3 }), /events are \d+, its manifest states 3/],
    ['size', delta, (json) => ({ ...json, bytes: 9 }), /bytes are \d+, its manifest states 9/],
    [
      'last record',
      delta,
      ({ lastRecord, ...json }) => ({
        ...json,
        lastRecord: Object.assign({}, lastRecord, { tombstone: true }),
      }),
      /last record is .* \(a deletion\)/,
    ],
  ])('%s differs from the object', async (_, nameOf, change, expected) => {
    const name = nameOf();
    await edit(place.manifest(name), change);
    const verdict = await place.verify();
    expect(damagedOf(verdict)).toEqual([name]);
    expect(problemsOf(verdict, name)).toMatch(expected);
  });

  test('two that contradict each other are named', async () => {
    await edit(place.manifest(delta()), (json) => ({
      ...json,
      previous: { name: set.deltas[0], sha256: 'c'.repeat(64) },
    }));
    const verdict = await place.verify();
    expect(damagedOf(verdict)).toEqual([]);
    expect(verdict.chain?.problems).toEqual([
      {
        object: delta(),
        text: expect.stringMatching(/^its manifest says that it continues .* SHA-256 c{64}/),
      },
    ]);
  });
});

describe('the chain', () => {
  test('a lost delta is a gap up to the next full, and what can be restored is told', async () => {
    await rm(place.path(set.deltas[0] as string));
    const { chain } = await place.verify();
    expect(chain?.plan.kind).toBe('ready');
    expect(chain?.restorable).toHaveLength(2);
    expect(chain?.notes).toEqual([`${set.deltas[0]}: has a manifest, and is not there`]);
  });

  test('a damaged full takes what is behind it along, as far as no other reaches', async () => {
    await place.flip(set.fulls[1] as string, 100);
    const verdict = await place.verify();
    expect(damagedOf(verdict)).toEqual([set.fulls[1]]);
    expect(verdict.chain?.plan).toMatchObject({ kind: 'ready', plan: { base: { name: { text: full() } } } });
  });

  test('hazard 34: odd names beside the backups are named and change nothing', async () => {
    for (const odd of ['lost+found', "Stest':%bad", 'Full-1-2']) await writeFile(place.path(odd), 'x');
    const { chain, objects } = await place.verify();
    expect(objects).toHaveLength(5);
    expect(chain?.notes.join('\n')).toContain('lost+found');
    expect(chain?.notes).toHaveLength(3);
  });
});
