import { describe, expect, test } from 'vitest';
import { BackupError } from '../../src/errors.js';
import { formatManifest, type Manifest, parseManifest, recordIdentity } from '../../src/snapshot/manifest.js';

const NAME = 'Full-00000000-00000120-1700000000.zst';
const SHA = 'ab'.repeat(32);

const FULL: Omit<Manifest, 'version'> = {
  name: NAME,
  revision: 2n ** 62n + 1n,
  compactRevision: 17n,
  bytes: 1234,
  sha256: SHA,
  plain: { bytes: 98_336, sha256: SHA },
  hashKv: { hash: 0xffff_ffff, revision: 124n, compactRevision: -1n },
  serverVersion: '3.6.16',
  clusterId: 2n ** 64n - 1n,
  memberId: 12345678901234567890n,
  openedAtMs: 1_700_000_000_123,
  endedAtMs: 1_700_000_009_456,
  lastRecord: { keyBase64: 'AP8=', modRevision: 124n, tombstone: false, sha256: SHA },
  restoredFrom: { base: 'Full-00000000-00000100-1690000000.gz', revision: 118n, restoredAtMs: 5 },
  divergedFrom: 'Incr-00000101-00000200-1690000020.gz',
  previous: { name: 'Incr-00000101-00000119-1699999990.ebd', sha256: SHA },
};

test('64-bit numbers survive the way through JSON exactly', () => {
  const text = formatManifest(FULL);
  expect(JSON.parse(text)).toMatchObject({
    revision: '4611686018427387905',
    clusterId: '18446744073709551615',
  });
  expect(parseManifest(NAME, Buffer.from(text))).toEqual({ version: 1, ...FULL });
});

test('the order in which a writer names the fields does not change the bytes', () => {
  const reversed = Object.fromEntries(Object.entries(FULL).reverse()) as typeof FULL;
  expect(formatManifest(reversed)).toBe(formatManifest(FULL));
});

test('fields of a later writer are passed over, a later version is refused', () => {
  const json = JSON.parse(formatManifest(FULL));
  expect(parseManifest(NAME, encode({ ...json, color: 'red' })).revision).toBe(FULL.revision);
  expect(codeOf(() => parseManifest(NAME, encode({ ...json, version: 2 })))).toBe('UNSUPPORTED');
});

describe('a damaged manifest is an error that says so, not a plan built on it', () => {
  const json = JSON.parse(formatManifest(FULL));
  test.each([
    ['no JSON', Buffer.from('{"version":1')],
    ['no UTF-8', Buffer.from([0x22, 0xff, 0x22])],
    ['a number for a revision', encode({ ...json, revision: 120 })],
    ['a text that is no number', encode({ ...json, revision: '12x' })],
    ['a digest of the wrong length', encode({ ...json, sha256: 'ab' })],
    ['no digest', encode({ ...json, sha256: undefined })],
    ['another object', encode({ ...json, name: 'Full-00000000-00000121-1700000000.zst' })],
    ['more bytes than any manifest has', Buffer.alloc(5 * 1024 * 1024, 0x20)],
  ])('%s', (_, bytes) => {
    expect(codeOf(() => parseManifest(NAME, bytes))).toBe('CORRUPT');
  });

  test.each(['null', '[]', '"x"', '7'])('%s', (text) => {
    expect(codeOf(() => parseManifest(NAME, Buffer.from(text)))).toBe('UNSUPPORTED');
  });

  test('the wrong field is named', () => {
    const wrong = encode({ ...json, hashKv: { hash: -1, revision: '1', compactRevision: '0' } });
    expect(() => parseManifest(NAME, wrong)).toThrow(/hashKv\.hash/);
  });
});

test('hazard 44: records are the same only when revision, key, kind and value are', () => {
  const record = { keyBase64: 'YQ==', modRevision: 5n, tombstone: false, sha256: SHA };
  expect(recordIdentity(record)).toBe(recordIdentity({ ...record }));
  for (const other of [
    { ...record, keyBase64: 'Yg==' },
    { ...record, modRevision: 6n },
    { ...record, tombstone: true },
    { ...record, sha256: 'cd'.repeat(32) },
  ]) {
    expect(recordIdentity(other)).not.toBe(recordIdentity(record));
  }
  expect(recordIdentity(undefined)).toBeUndefined();
});

function encode(json: unknown): Uint8Array {
  return Buffer.from(JSON.stringify(json));
}

function codeOf(read: () => unknown): string | undefined {
  try {
    read();
  } catch (error) {
    return error instanceof BackupError ? error.code : String(error);
  }
  return undefined;
}
