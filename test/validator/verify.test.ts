/** Verification of a set: what is sound is said to be sound, and every kind of damage is found and named. */
import { cp, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gunzipSync, gzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openStore } from '../../src/store/open-store.js';
import { inspectFile } from '../../src/validator/inspect-file.js';
import type { SetVerdict } from '../../src/validator/verdict.js';
import { verifyFile } from '../../src/validator/verify-file.js';
import { verifySet } from '../../src/validator/verify-set.js';

const fixtures = fileURLToPath(new URL('../fixtures/', import.meta.url));
const FULL = 'Full-00000000-00001486-1796074461.gz';
const DELTA = 'Incr-00001737-00001986-1796074463.gz';

let dir: string;
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'etcdbr-verify-test-'));
  await cp(join(fixtures, 'gardener-gzip-etcd3.5', 'store'), join(dir, 'store'), { recursive: true });
});
afterEach(() => rm(dir, { recursive: true }));

const objectPath = (name: string) => join(dir, 'store', 'v2', name);

async function verify(names: readonly string[] = []): Promise<SetVerdict> {
  const store = await openStore({
    provider: 'Local',
    container: join(dir, 'store'),
    prefix: '',
    homeDir: dir,
  });
  const verdict = await verifySet(store, {
    ...{ names, tempDir: join(dir, 'temp'), maxVerifiers: 3, again: false, deep: false, maxAgeMs: 0 },
    keepers: () => [],
  });
  expect(await readdir(join(dir, 'temp'))).toEqual([]);
  return verdict;
}

async function change(name: string, edit: (plain: Buffer) => Buffer): Promise<void> {
  await writeFile(objectPath(name), gzipSync(edit(gunzipSync(await readFile(objectPath(name))))));
}

const problemsOf = ({ objects }: SetVerdict, name: string) =>
  objects.find(({ object }) => object === name)?.problems.join('\n') ?? 'not verified';

describe('a set of the Go tool', () => {
  it('is sound, and its chain reaches the end', async () => {
    const verdict = await verify();
    expect(verdict.objects.flatMap(({ problems }) => problems)).toEqual([]);
    expect(verdict.chain?.plan).toMatchObject({ kind: 'ready', plan: { revision: 2989n } });
  });

  it('one changed byte in the full is seen by its digest', async () => {
    await change(FULL, (plain) => {
      const middle = Math.floor(plain.length / 2);
      plain.writeUInt8(plain.readUInt8(middle) ^ 1, middle);
      return plain;
    });
    expect(problemsOf(await verify([FULL]), FULL)).toContain('does not fit its bytes');
  });

  it('hazard 22: a full cut short with a valid container is named', async () => {
    await change(FULL, (plain) => plain.subarray(0, Math.floor(plain.length / 8192) * 4096));
    expect(problemsOf(await verify([FULL]), FULL)).toMatch(/high-water|cut off|SHA-256/);
  });

  it('a damaged delta is named, and the plan says which revisions are lost', async () => {
    const bytes = await readFile(objectPath(DELTA));
    await writeFile(objectPath(DELTA), bytes.subarray(0, bytes.length / 2));
    const verdict = await verify();
    expect(problemsOf(verdict, DELTA)).toContain(DELTA);
    expect(verdict.chain?.plan).toMatchObject({
      kind: 'gap',
      missing: [{ from: 1737n, to: 1986n }],
      best: { revision: 1736n },
    });
  });

  it('a delta under a wrong name is found out', async () => {
    const lying = 'Incr-00001737-00001990-1796074463.gz';
    await cp(objectPath(DELTA), objectPath(lying));
    expect(problemsOf(await verify([lying]), lying)).toContain('ends at revision 1986, its name says 1990');
  });
});

describe('one file', () => {
  let snapshot: string;
  beforeEach(async () => {
    snapshot = join(dir, 'snapshot.db');
    await writeFile(snapshot, gunzipSync(await readFile(join(fixtures, 'etcd-3.6', 'snapshot.db.gz'))));
  });

  it('hazard 26: is verified and inspected without leaving a trace', async () => {
    const [before, content] = [await stat(snapshot), await readFile(snapshot)];
    expect((await verifyFile(snapshot, { skipHashCheck: false, tempDir: dir })).problems).toEqual([]);
    expect(await inspectFile(snapshot)).toMatchObject({ kind: 'database', revision: expect.any(BigInt) });
    const after = await stat(snapshot);
    expect([after.size, after.mtimeMs]).toEqual([before.size, before.mtimeMs]);
    expect((await readFile(snapshot)).equals(content)).toBe(true);
  });

  it('hazard 28: a copy of member/snap/db is taken only when that is said', async () => {
    const bytes = await readFile(snapshot);
    await writeFile(snapshot, bytes.subarray(0, bytes.length - 32));
    const refused = verifyFile(snapshot, { skipHashCheck: false, tempDir: dir });
    await expect(refused).rejects.toMatchObject({
      code: 'TRUNCATED',
      message: expect.stringContaining('--skip-hash-check'),
    });
    expect((await verifyFile(snapshot, { skipHashCheck: true, tempDir: dir })).problems).toEqual([]);
  });

  it('an object that was copied out of a store is verified, too, whatever it is', async () => {
    const options = { skipHashCheck: false, tempDir: join(dir, 'temp') };
    const full = await verifyFile(objectPath(FULL), options);
    expect(full).toMatchObject({ revision: 1486n, problems: [] });
    expect(await verifyFile(objectPath(DELTA), options)).toMatchObject({ revision: 1986n, problems: [] });
    expect(await readdir(options.tempDir)).toEqual([]);
    const renamed = join(dir, 'copy of a delta');
    await cp(objectPath(DELTA), renamed);
    expect(await verifyFile(renamed, options)).toMatchObject({ revision: 1986n, problems: [] });
    const lying = join(dir, 'Incr-00001700-00001986-1796074463.gz');
    await cp(objectPath(DELTA), lying);
    expect((await verifyFile(lying, options)).problems.join()).toContain('its name says 1700');
    await change(FULL, (plain) => plain.subarray(0, plain.length - 4096));
    expect((await verifyFile(objectPath(FULL), options)).problems.join()).toMatch(/SHA-256/);
  });

  it('hazard 27: what is no snapshot is called by its name', async () => {
    const zip = join(dir, 'backup.zip');
    await writeFile(zip, Buffer.concat([Buffer.from('PK\x03\x04'), Buffer.alloc(2000)]));
    await expect(verifyFile(zip, { skipHashCheck: true, tempDir: dir })).rejects.toThrow(/zip/i);
    await expect(inspectFile(zip)).rejects.toThrow(/zip/i);
    await expect(inspectFile(dir)).rejects.toThrow(/directory/);
  });
});
