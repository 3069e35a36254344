import { readdirSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  type Codec,
  formatName,
  isMeant,
  MAX_REVISION,
  parseName,
  type SnapshotName,
} from '../../src/snapshot/name.js';

const FIXTURES = new URL('../fixtures/', import.meta.url);

describe('names of the Go tool', () => {
  test.each([
    ['Full-00000000-00009002-1565021494.gz', { kind: 'full', start: 0n, last: 9002n, codec: 'gzip' }],
    ['Incr-00009003-00009100-1565021554.gz', { kind: 'delta', start: 9003n, last: 9100n, codec: 'gzip' }],
    ['Incr-00000002-00000002-1.zlib', { kind: 'delta', last: 2n, codec: 'zlib' }],
    ['Full-00000000-00000005-1700000000.Z', { codec: 'lzw' }],
    ['Full-00000000-00000005-1700000000', { codec: 'none', final: false }],
    ['Full-00000000-00000005-1700000000.final', { codec: 'none', final: true }],
    ['Full-00000000-00009002-1565021494.gz.final', { codec: 'gzip', final: true }],
    ['Incr-1189843863-1189847828-1700000000.gz', { start: 1189843863n, last: 1189847828n }],
    ['Incr-00000001-9223372036854775807-1700000000', { last: 9223372036854775807n }],
  ])('%s', (text, expected) => {
    expect(parseName(text)).toMatchObject({ ok: true, name: { text, ...expected } });
  });

  test('every object of every fixture is understood', () => {
    const names = readdirSync(FIXTURES, { recursive: true, encoding: 'utf8' })
      .map((path) => path.slice(path.lastIndexOf('/') + 1))
      .filter((name) => /^(Full|Incr)-/.test(name));
    expect(names.length).toBeGreaterThan(50);
    expect(names.filter((name) => !parseName(name).ok)).toEqual([]);
  });
});

describe('names of our own', () => {
  test.each([
    ['Full-00000000-00000012-1700000000.zst', { codec: 'zstd', encrypted: false }],
    ['Full-00000000-00000012-1700000000.zst.age', { codec: 'zstd', encrypted: true }],
    ['Full-00000000-00000012-1700000000.age', { codec: 'none', encrypted: true }],
    ['Incr-00000013-00000020-1700000000.ebd', { codec: 'ebd' }],
    ['Incr-00000013-00000020-1700000000.ebd.age.final', { codec: 'ebd', encrypted: true, final: true }],
  ])('%s', (text, expected) => {
    expect(parseName(text)).toMatchObject({ ok: true, name: expected });
  });

  test('whatever is written can be read again', () => {
    fc.assert(
      fc.property(anyName(), (parts) => {
        const text = formatName(parts);
        expect(parseName(text)).toEqual({ ok: true, name: { ...parts, text } });
      }),
    );
  });

  test('parts that no object can have are refused', () => {
    const parts = { kind: 'delta', start: 5n, last: 4n, createdSecs: 1, codec: 'ebd' } as const;
    expect(() => formatName(parts)).toThrow(/start above its last/);
    expect(() => formatName({ ...parts, last: 9n, createdSecs: 1.5 })).toThrow(/time/);
    expect(() => formatName({ ...parts, last: 9n, codec: 'zstd' })).toThrow(/suffix of fulls/);
    expect(() => formatName({ ...parts, kind: 'full', start: 0n })).toThrow(/suffix of deltas/);
  });
});

describe('hazard 34: names that others put beside backups', () => {
  test.each([
    ['lost+found', /is not named/],
    ['test:with:colons', /is not named/],
    ["Stest':%bad", /is not named/],
    [';', /is not named/],
    ['', /is not named/],
    ['x'.repeat(300), /is not named/],
    [`Full-00000000-00000005-1${'.gz'.repeat(60)}`, /is not named/],
    ['Chunk-00000000-00000005-1700000000', /is not named/],
    ['full-00000000-00000005-1700000000', /is not named/],
    ['Full-00000000-00000005-1700000000-9', /is not named/],
    ['Full-00000000--5-1700000000', /is not named/],
    ['Full-00000000-00000005-', /is not named/],
    ['Full-00000000-0x000005-1700000000', /is not named/],
    ['Full-00000000-00000005-1700000000\n', /is not named/],
    ['Incr-00000009-00000005-1700000000', /start above its last revision/],
    ['Incr-00000001-9223372036854775808-1700000000', /above 9223372036854775807/],
    ['Full-00000000-00000005-1700000000.bz2', /unknown suffix "\.bz2"/],
    ['Full-00000000-00000005-1700000000.', /unknown suffix "\."/],
    ['Full-00000000-00000005-1700000000.gz.gz', /unknown suffix "\.gz"/],
    ['Full-00000000-00000005-1700000000.final.gz', /unknown suffix "\.final"/],
    ['Full-00000000-00000005-1700000000.ebd', /suffix of deltas/],
    ['Incr-00000001-00000005-1700000000.zst', /suffix of fulls/],
  ])('%j is refused with a reason', (text, reason) => {
    expect(parseName(text)).toEqual({ ok: false, reason: expect.stringMatching(reason) });
  });

  test('no text makes the parser throw', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        parseName(text);
        parseName(`Full-${text}`);
        parseName(`Full-00000000-00000005-1${text}`);
      }),
    );
  });
});

describe('hazard 45: no temporary name parses', () => {
  test.each([
    'Full-00000000-00009002-1565021494.gz.tmp',
    'Full-00000000-00009002-1565021494.gz.part',
    '.Full-00000000-00009002-1565021494.gz',
    '.Full-00000000-00009002-1565021494.zst.a1b2c3',
  ])('%s', (text) => {
    expect(parseName(text).ok).toBe(false);
  });
});

test('an object is meant by its key, its name, or its name without suffixes', () => {
  const text = 'Full-00000000-00009002-1565021494.gz';
  expect(isMeant(text, text)).toBe(true);
  expect(isMeant(`v2/${text}`, text)).toBe(true);
  expect(isMeant('Full-00000000-00009002-1565021494', text)).toBe(true);
  expect(isMeant('Full-00000000-00009002-1565021494.zst', text)).toBe(false);
  expect(isMeant('Full-00000000-00009002-156502149', text)).toBe(false);
});

function anyName(): fc.Arbitrary<Omit<SnapshotName, 'text'>> {
  const revision = fc.bigInt({ min: 0n, max: MAX_REVISION });
  return fc
    .record({
      kind: fc.constantFrom('full' as const, 'delta' as const),
      bounds: fc.tuple(revision, revision),
      createdSecs: fc.integer({ min: 0, max: 99_999_999_999 }),
      codec: fc.constantFrom<Codec>('none', 'gzip', 'zlib', 'lzw', 'zstd', 'ebd'),
      encrypted: fc.boolean(),
      final: fc.boolean(),
    })
    .filter(({ kind, codec }) => codec !== (kind === 'full' ? 'ebd' : 'zstd'))
    .map(({ bounds: [start, length], ...rest }) => {
      const last = start + (length % (MAX_REVISION - start + 1n));
      return { ...rest, start, last };
    });
}
