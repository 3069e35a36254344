/** Against real etcds: states, histories and differences are what `get --rev` says of the source. */
import { describe, expect, test } from 'vitest';
import { packFull } from '../../src/native/index.js';
import { pathIn, type Recorder } from '../restorer/recorder.js';
import { recorded, testDir } from '../restorer/set-up.js';
import { ETCD_VERSIONS, type EtcdVersion } from '../servers/binaries.js';
import { Load } from '../servers/load.js';
import { readTruth, type Truth } from '../servers/truth.js';
import {
  ALL,
  byKey,
  describe as described,
  one,
  prefix,
  rowsOf,
  storeReader,
  truthByKey,
} from './readers.js';

const dir = testDir('reader-live');

interface Source {
  readonly recorder: Recorder;
  readonly store: string;
  readonly truths: Truth[];
}

/** Fulls, the second one packed, deltas of both formats, and the whole state at many revisions. */
async function backedUp(version: EtcdVersion, compactBehind: number): Promise<Source> {
  const recorder = await recorded(version, dir.in('work'));
  const store = dir.in('store');
  const load = new Load(recorder.endpoint, { seed: 23, keys: 40, compactBehind });
  const truths: Truth[] = [];
  const run = async (steps: number) => {
    await load.run(steps);
    truths.push(await readTruth(recorder.endpoint));
  };
  await run(150);
  await recorder.full(store);
  let next = (await recorder.revision()) + 1n;
  for (let round = 0; round < 4; round++) {
    for (let part = 0; part < 3; part++) await run(40);
    await recorder.store(store, await recorder.delta(next, round % 2 === 0 ? 'ebd' : 'json'));
    next = (await recorder.revision()) + 1n;
    if (round === 1) await packedFull(recorder, store);
  }
  return { recorder, store, truths };
}

async function packedFull(recorder: Recorder, store: string): Promise<void> {
  const source = await recorder.snapshot();
  const name = `Full-00000000-${String(await recorder.revision()).padStart(8, '0')}-${recorder.secs + 5}.zst`;
  await packFull({ source, target: await pathIn(store, name), codec: 'zstd' });
}

describe.each(ETCD_VERSIONS)('etcd %s', (version) => {
  test('every state is that of the source, whatever was compacted since', async () => {
    const { store, truths } = await backedUp(version, 250);
    const reader = await storeReader(store);
    for (const truth of truths) {
      const answer = await reader.state(ALL, truth.revision, {});
      expect(byKey(await rowsOf(answer))).toEqual(truthByKey(truth));
      for (const kv of truth.keys.filter((_, index) => index % 5 === 0)) {
        const [row] = await rowsOf(reader.state(one(kv.key), truth.revision, {}));
        expect(row && described(row)).toBe(described(kv));
      }
      expect(await rowsOf(reader.state(one('no such key'), truth.revision, {}))).toEqual([]);
    }
    const newest = await reader.state(ALL, undefined, {});
    expect(newest.revision).toBe(truths.at(-1)?.revision);
    await expect(reader.state(ALL, newest.revision + 1n, {})).rejects.toMatchObject({ code: 'REVISION_GAP' });
    await reader.close();
  });

  test('differences are those of two states', async () => {
    const { store, truths } = await backedUp(version, 250);
    const reader = await storeReader(store);
    for (const [from, to] of truths.flatMap((a, at) => truths.slice(at).map((b) => [a, b] as const))) {
      const rows = await rowsOf(reader.difference(ALL, from.revision, to.revision, {}));
      const [before, after] = [truthByKey(from), truthByKey(to)];
      const expected = new Map<string, string>();
      for (const [key, text] of after) {
        const old = before.get(key);
        if (old !== text) expected.set(key, `${old === undefined ? 'added' : 'changed'} ${old} ${text}`);
      }
      for (const [key, old] of before) if (!after.has(key)) expected.set(key, `deleted ${old} undefined`);
      const found = rows.map((row) => {
        const old = row.before === undefined ? undefined : described(row.before);
        const text = row.kind === 'deleted' ? undefined : described(row);
        return [row.key.toString('latin1'), `${row.kind} ${old} ${text}`] as const;
      });
      expect(new Map(found)).toEqual(expected);
    }
    await reader.close();
  });

  test('a history has every revision of the key, and a prefix those of its keys', async () => {
    const { recorder, store, truths } = await backedUp(version, 0);
    const reader = await storeReader(store);
    const newest = await recorder.revision();
    const keys = (truths.at(-1) as Truth).keys.map(({ key }) => key).filter((_, index) => index % 9 === 0);
    const expected = new Map(keys.map((key) => [key.toString('latin1'), [] as string[]]));
    for (let revision = 2n; revision <= newest; revision++) {
      for (const key of keys) {
        const { kvs } = await recorder.endpoint.kv.range({ key, revision: String(revision) });
        const changes = expected.get(key.toString('latin1')) ?? [];
        const now = kvs[0] === undefined ? 'deleted' : `${kvs[0].mod_revision} ${kvs[0].version}`;
        if (now !== changes.at(-1) && (changes.length > 0 || now !== 'deleted')) changes.push(now);
      }
    }
    for (const key of keys) {
      const answer = await reader.history(one(key), { withValues: false });
      expect(answer.compacted).toBe(-1n);
      const rows = await rowsOf(answer);
      // A key that is put and deleted in one revision shows its deletion only to who asks for the revision.
      const told = rows.filter((row, at) => rows[at + 1]?.modRevision !== row.modRevision);
      expect(
        told.map(({ kind, modRevision, version: count }) =>
          kind === 'put' ? `${modRevision} ${count}` : 'deleted',
        ),
      ).toEqual(expected.get(key.toString('latin1')));
      for (const row of rows) expect(answer.nameOf(row)).toMatch(/^(Full|Incr)-/);
    }
    const all = await rowsOf(reader.history(prefix(''), { withValues: true }));
    expect(all.filter(({ timeMs }) => timeMs !== undefined).length).toBeGreaterThan(100);
    const changes = all.map(({ modRevision, sub }) => `${modRevision}/${sub}`);
    expect(new Set(changes).size).toBe(changes.length);
    await reader.close();
  });
});
