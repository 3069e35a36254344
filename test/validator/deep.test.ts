/** `--deep`: a set in which every object is sound by itself and which still is not what etcd had. */
import { copyFile, rm } from 'node:fs/promises';
import fc from 'fast-check';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { WatchResponse } from '../etcd/collecting-sink.js';
import { fixture } from '../restorer/request.js';
import { recorded, testDir } from '../restorer/set-up.js';
import { ETCD_VERSIONS } from '../servers/binaries.js';
import { removeTempDir } from '../servers/process.js';
import { type OurSet, ourSet } from './our-set.js';
import { damagedOf, VerifyPlace } from './verify-place.js';

const DEEP = { deep: true };
const REMEMBERED = { deep: true, stateDir: 'state' };

describe('a set of ours', () => {
  let set: OurSet;
  let place: VerifyPlace;
  beforeAll(async () => {
    set = await ourSet('3.6.16', { seed: 3, compactBehind: 30 });
  }, 60_000);
  afterAll(() => set.remove());
  beforeEach(async () => {
    place = await VerifyPlace.copyOf(set.container);
  });
  afterEach(() => removeTempDir(place.dir));

  test('base and deltas make the later full, across compactions; each object is read once', async () => {
    const verdict = await place.verify(DEEP);
    expect(damagedOf(verdict)).toEqual([]);
    expect(verdict.deep).toMatchObject([
      { base: set.fulls[0], later: set.fulls[1], deltas: 2, outcome: 'equal', remembered: false },
    ]);
    expect(verdict.objects).toHaveLength(5);
    expect(place.gets).toBe(5 + 5);
  });

  test('what was compared is remembered, until a part of it is another', async () => {
    await place.verify(REMEMBERED);
    const second = await place.verify(REMEMBERED);
    expect(second.deep).toMatchObject([{ outcome: 'equal', remembered: true }]);
    expect(second.totals.readObjects).toBe(0);
    expect((await place.verify({ ...REMEMBERED, again: true })).totals.readObjects).toBe(5);
    await copyFile(
      place.path(set.deltas[0] as string),
      place.path(set.deltas[0] as string).replace(/-\d+\.ebd/, '-9.ebd'),
    );
    expect((await place.verify(REMEMBERED)).deep).toHaveLength(1);
  });

  test('objects that are remembered are read again for a comparison that is not', async () => {
    await place.verify({ stateDir: 'state' });
    const verdict = await place.verify(REMEMBERED);
    expect(verdict.deep).toMatchObject([{ outcome: 'equal', remembered: false }]);
    expect(verdict.totals.readObjects).toBe(4);
    expect(verdict.objects).toHaveLength(5);
  });

  test('without the deltas between them two fulls cannot be compared, which is said', async () => {
    await rm(place.path(set.deltas[0] as string));
    const { deep, chain } = await place.verify(DEEP);
    expect(deep).toMatchObject([
      { outcome: 'not comparable', detail: expect.stringMatching(/^revisions \d+-\d+ are in no/) },
    ]);
    expect(chain?.plan.kind).toBe('ready');
  });

  test('what is known to lack deltas is not read for a comparison', async () => {
    await place.verify({ stateDir: 'state' });
    await rm(place.path(set.deltas[0] as string));
    const verdict = await place.verify(REMEMBERED);
    expect(verdict.deep).toMatchObject([{ outcome: 'not comparable' }]);
    expect(verdict.totals.readObjects).toBe(0);
  });

  test('a damaged delta, or full, is told once, and there is nothing to compare', async () => {
    await place.flip(set.deltas[1] as string, 300);
    const told: string[] = [];
    const verdict = await place.verify({ ...DEEP, onVerdict: ({ object }) => void told.push(object) });
    expect(damagedOf(verdict)).toEqual([set.deltas[1]]);
    expect(verdict.deep).toMatchObject([{ outcome: 'not comparable' }]);
    expect(told.sort()).toEqual([...new Set(told)]);
    await place.flip(set.fulls[0] as string, 300);
    expect((await place.verify(DEEP)).deep).toMatchObject([
      { outcome: 'not comparable', detail: expect.stringContaining(`${set.fulls[0]} is not sound`) },
    ]);
  });

  test('a run that is stopped in the middle of it goes on later', async () => {
    const aborter = new AbortController();
    const stopped = place.verify({
      ...REMEMBERED,
      signal: aborter.signal,
      onVerdict: () => aborter.abort('SIGINT'),
    });
    await expect(stopped).rejects.toMatchObject({ code: 'CANCELLED' });
    expect((await place.verify(REMEMBERED)).deep).toMatchObject([{ outcome: 'equal' }]);
  });
});

describe.each(['gardener-two-writers-etcd3.5'])('%s', (name) => {
  test('fulls of the Go tool, without manifests, with overlapping deltas, are compared', async () => {
    const place = await VerifyPlace.copyOf(fixture(`${name}/store`));
    const verdict = await place.verify(DEEP);
    expect(verdict.deep).toMatchObject([{ outcome: 'equal', deltas: 1, revision: 1188n }]);
    await removeTempDir(place.dir);
  });
});

type Kv = { key: Uint8Array; value: Uint8Array };
type Decoded = { events: { type: number; kv: Kv }[] };

/** A response with other events, as the writer takes it. */
function withEvents(response: Buffer, change: (events: Decoded['events']) => Decoded['events']): Buffer {
  const decoded = WatchResponse.decode(response) as unknown as Decoded;
  decoded.events = change(decoded.events);
  return Buffer.from(WatchResponse.encode(decoded as never).finish());
}

const textOf = (bytes: Uint8Array) => Buffer.from(bytes).toString('latin1');

describe('a delta that is sound by itself and not what happened', () => {
  const dir = testDir('deep');

  /** One revision of two keys between two fulls, put down as `alter` has it. */
  async function setWith(alter: (response: Buffer) => Buffer) {
    const recorder = await recorded('3.6.16', dir.in('work'));
    await recorder.put('/a/', 20);
    const store = dir.in('store');
    await recorder.full(store);
    const from = (await recorder.revision()) + 1n;
    await recorder.put('/b/', 5);
    const both = ['/x', '/y'].map((key) => ({
      request_put: { key: Buffer.from(key), value: Buffer.from('true') },
    }));
    const { header } = await recorder.endpoint.kv.txn({ compare: [], success: both, failure: [] });
    await recorder.put('/c/', 5);
    const name = await recorder.store(store, await recorder.delta(from, 'ebd', alter));
    const later = await recorder.full(store);
    return { container: store, name, later, revision: BigInt(header.revision) };
  }

  test.each<[string, (events: Decoded['events']) => Decoded['events'], RegExp]>([
    [
      'an event is lost',
      (events) => events.filter(({ kv }) => textOf(kv.key) !== '/y'),
      /record \d+\/1 of "\/y" is in the later full and not in base and deltas/,
    ],
    [
      'a value is another',
      (events) =>
        events.map((event) =>
          textOf(event.kv.key) === '/x'
            ? { ...event, kv: Object.assign(event.kv, { value: Buffer.from('lies') }) }
            : event,
        ),
      /record \d+\/0 of "\/x" is \d+ bytes by base and deltas and \d+ other ones/,
    ],
  ])('%s: only --deep finds it, and names the first revision', async (_, change, expected) => {
    const { container, name, later, revision } = await setWith((response) => withEvents(response, change));
    const place = await VerifyPlace.copyOf(container);
    const shallow = await place.verify();
    expect(damagedOf(shallow)).toEqual([]);
    expect(shallow.chain).toMatchObject({ plan: { kind: 'ready' }, problems: [] });
    const { deep } = await place.verify({ ...DEEP, stateDir: 'state' });
    expect(deep).toMatchObject([{ outcome: 'differs', later }]);
    expect(deep[0]?.detail).toMatch(expected);
    expect(deep[0]?.detail).toContain(`they part at revision ${revision} (in ${name})`);
    // And again: only what is equal is remembered.
    expect((await place.verify({ ...DEEP, stateDir: 'state' })).deep).toMatchObject([{ outcome: 'differs' }]);
    await removeTempDir(place.dir);
  });

  test.each(ETCD_VERSIONS)('etcd %s: an honest one is equal', async (version) => {
    const recorder = await recorded(version, dir.in('work'));
    await recorder.put('/a/', 20);
    const store = dir.in('store');
    await recorder.full(store);
    const from = (await recorder.revision()) + 1n;
    await recorder.put('/b/', 30);
    await recorder.store(store, await recorder.delta(from, 'json'));
    await recorder.full(store);
    const place = await VerifyPlace.copyOf(store);
    expect((await place.verify(DEEP)).deep).toMatchObject([{ outcome: 'equal', deltas: 1 }]);
    await removeTempDir(place.dir);
  });
});

test('sets of random histories are sound, and their deltas make their fulls', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.record({
        seed: fc.nat(),
        version: fc.constantFrom(...ETCD_VERSIONS),
        compactBehind: fc.constantFrom(0, 5, 40),
        steps: fc.integer({ min: 1, max: 120 }),
        format: fc.constantFrom({}, { 'delta-format': 'json' }),
      }),
      async ({ version, format, ...options }) => {
        const set = await ourSet(version, { ...options, flags: format });
        const place = await VerifyPlace.copyOf(set.container);
        try {
          const verdict = await place.verify(DEEP);
          expect(verdict.objects.flatMap(({ problems }) => problems)).toEqual([]);
          expect(verdict.chain).toMatchObject({ plan: { kind: 'ready' }, problems: [], notes: [] });
          expect(verdict.deep).toMatchObject([{ outcome: 'equal' }]);
        } finally {
          await removeTempDir(place.dir);
          await set.remove();
        }
      },
    ),
    { numRuns: 6 },
  );
}, 120_000);
