import fc from 'fast-check';
import { expect, it } from 'vitest';
import { compareKeys, isBelow, keyFault, sortKeys } from '../../src/store/key.js';

const text = fc.string({ unit: 'binary', maxLength: 12 });

it('orders keys as their UTF-8 bytes are ordered', () => {
  fc.assert(
    fc.property(text, text, (a, b) => {
      const byBytes = Buffer.compare(Buffer.from(a), Buffer.from(b));
      expect(Math.sign(compareKeys(a, b))).toBe(byBytes);
    }),
    { seed: 3, numRuns: 2000 },
  );
});

it('sorts with and without surrogates alike', () => {
  fc.assert(
    fc.property(fc.array(text), (keys) => {
      const byBytes = [...keys].sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
      expect(sortKeys([...keys])).toEqual(byBytes);
    }),
    { seed: 4, numRuns: 500 },
  );
});

it('takes "below" by whole path elements', () => {
  expect(isBelow('etcd-main/v2/a', 'etcd-main')).toBe(true);
  expect(isBelow('etcd-main-2/v2/a', 'etcd-main')).toBe(false);
  expect(isBelow('etcd-main', 'etcd-main')).toBe(false);
  expect(isBelow('anything', '')).toBe(true);
});

it('says of each bad key what is wrong with it', () => {
  expect(keyFault('v2/Full-00000000-00000001-1700000000.gz')).toBeUndefined();
  expect(keyFault('a/../b')).toContain('".."');
  expect(keyFault('a/.tmp-b')).toContain('unfinished');
  expect(keyFault('a//b')).toContain('//');
  expect(keyFault('\uDC00')).toContain('half a character');
});
