/** Ends of a WAL that a crash left: torn or damaged, as the etcd of that version takes a copy of it, and repaired. */
import { appendFile, cp, readdir, readFile, truncate } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { cleanUp, testDir } from '../../restorer/set-up.js';
import { ETCD_VERSIONS, type EtcdVersion } from '../../servers/binaries.js';
import { startEtcd, type TestEtcd } from '../../servers/etcd.js';
import { Random } from '../../servers/random.js';
import { write, writeUntil } from './load.js';
import { damageMiddle, etcdOnCopy, judge, patch, traceOf, usedBytes, walFiles } from './set-up.js';

const dir = testDir('torn');
const TRIALS = 6;
const SEED = 7;
/** Of the end that is hurt: some hundred records. */
const END_BYTES = 20_000;
const SECTOR_BYTES = 512;

describe.each(ETCD_VERSIONS)('etcd %s', (version) => {
  let source: TestEtcd;
  beforeAll(async () => {
    source = await killed(version);
  });
  afterAll(() => source.destroy());

  it.each(Array.from({ length: TRIALS }, (_, trial) => trial))(
    'an end that is hurt is judged as etcd takes it (%i)',
    async (trial) => {
      const dataDir = dir.in('data');
      await cp(source.dataDir, dataDir, { recursive: true });
      const how = await hurt(dataDir, new Random(SEED * 1000 + trial), trial);
      const verdict = await judge(dataDir);
      const truth = await etcdOnCopy(version, dataDir);
      const seen = `${how}: ${verdict.verdict} (${verdict.problems.join('; ')}), etcd: ${truth}`;
      if (typeof truth === 'string') return expect(verdict.verdict, seen).toBe('damaged');
      if (verdict.verdict === 'ok') {
        expect(verdict.revision?.least, seen).toBeLessThanOrEqual(truth);
        expect(verdict.revision?.most, seen).toBeGreaterThanOrEqual(truth);
        return;
      }
      // etcd starts, without what its own database has applied.
      expect(verdict.problems.join('; '), seen).toMatch(
        /has applied raft entry|are missing: they are committed/,
      );
    },
  );

  it('a torn end is repaired when asked, with the broken copy kept, and etcd then starts', async () => {
    const dataDir = dir.in('data');
    await cp(source.dataDir, dataDir, { recursive: true });
    const wal = (await walFiles(dataDir)).at(-1) as string;
    await tear(wal);
    const broken = await readFile(wal);
    const before = await traceOf(dataDir);
    const torn = await judge(dataDir);
    expect(torn).toMatchObject({ verdict: 'ok', repaired: undefined });
    expect(torn.notes.join('\n')).toMatch(/not written whole.*--repair/);
    expect(await traceOf(dataDir), 'only looked at').toEqual(before);
    const truth = await etcdOnCopy(version, dataDir);

    const repaired = await judge(dataDir, { repair: true });
    expect(repaired).toMatchObject({ verdict: 'ok', wal: { torn: null } });
    expect(repaired.repaired?.file).toBe(wal);
    expect(await readFile(`${wal}.broken`)).toEqual(broken);
    const names = await readdir(join(dataDir, 'member', 'wal'));
    expect(names.filter((name) => name.startsWith(basename(wal)))).toHaveLength(2);
    expect(await etcdOnCopy(version, dataDir)).toBe(truth);
    expect((await judge(dataDir, { repair: true })).notes.join()).toContain('nothing to repair');
  });

  it('a damaged one is not', async () => {
    const dataDir = dir.in('data');
    await cp(source.dataDir, dataDir, { recursive: true });
    const wal = (await walFiles(dataDir)).at(-1) as string;
    await damageMiddle(wal);
    const before = await traceOf(dataDir);
    const verdict = await judge(dataDir, { repair: true });
    expect(verdict).toMatchObject({ verdict: 'damaged', repaired: undefined });
    expect(verdict.notes.join('\n')).toContain('not repaired');
    expect(await traceOf(dataDir)).toEqual(before);
  });
});

it('a kill in the middle of the repair leaves the end torn, or cut', async () => {
  const source = await killed('3.5.35');
  cleanUp(() => source.destroy());
  const wal = (await walFiles(source.dataDir)).at(-1) as string;
  await tear(wal);
  await cp(wal, `${wal}.broken`);
  const verdict = await judge(source.dataDir, { repair: true });
  expect(verdict.repaired?.brokenCopy).toBe(`${wal}.broken-2`);
  expect(verdict.verdict).toBe('ok');
});

/** A record of 100 bytes was begun. */
async function tear(wal: string): Promise<void> {
  const end = await usedBytes(wal);
  await truncate(wal, end);
  await appendFile(wal, Buffer.concat([Buffer.from([100, 0, 0, 0, 0, 0, 0, 0x84]), Buffer.alloc(30, 8)]));
}

async function killed(version: EtcdVersion): Promise<TestEtcd> {
  const etcd = await startEtcd(version);
  const endpoint = await etcd.open();
  for (let number = 0; number < 50; number++) await write(endpoint, number);
  const stop = new AbortController();
  const writing = writeUntil(endpoint, stop.signal);
  await sleep(500);
  await etcd.kill();
  stop.abort();
  await writing;
  endpoint.close();
  return etcd;
}

/** One of the ways in which an end goes wrong; says which. */
async function hurt(dataDir: string, random: Random, trial: number): Promise<string> {
  const wal = (await walFiles(dataDir)).at(-1) as string;
  const used = await usedBytes(wal);
  const at = used - 1 - random.int(END_BYTES);
  switch (trial % 6) {
    case 0:
      await truncate(wal, at);
      return `cut at ${at}`;
    case 1:
    case 2: {
      const sector = Math.ceil(at / SECTOR_BYTES) * SECTOR_BYTES;
      const sectors = 1 + random.int(8);
      await patch(wal, sector, Buffer.alloc(sectors * SECTOR_BYTES));
      return `${sectors} sectors never written from ${sector}`;
    }
    case 3:
      await patch(wal, at, Buffer.alloc(used - at));
      return `zeros from ${at}`;
    case 4:
      await patch(wal, at, random.bytes(1 + random.int(64)));
      return `noise at ${at}`;
    default: {
      const end = used - (used % 8);
      await patch(wal, end, random.bytes(300));
      return `noise behind the end at ${end}`;
    }
  }
}
