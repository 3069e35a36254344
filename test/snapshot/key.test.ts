import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { classifyKey } from '../../src/snapshot/key.js';

const NAME = 'Full-00000000-00009002-1565021494.gz';

test.each([
  [`v2/${NAME}`, 'snapshot'],
  [`v1/Backup-1565021494/${NAME}`, 'snapshot'],
  [`v2/${NAME}/0000000001`, 'chunk'],
  [`v1/Backup-1565021494/${NAME}/0000000012`, 'chunk'],
  [`v2/manifest/${NAME}.json`, 'manifest'],
  ['v2/verified/1796074461000-0123456789abcdef.jsonl.gz', 'verified'],
  ['v2/verified/notes.txt', 'foreign'],
  [`v2/.${NAME}.tmp`, 'hidden'],
  ['v2/manifest/.x', 'hidden'],
  ['.trash/v2/x', 'hidden'],
])('%s is a %s', (key, what) => {
  expect(classifyKey(key).what).toBe(what);
});

test('a chunk and a manifest say whose they are', () => {
  expect(classifyKey(`v2/${NAME}/0000000012`)).toMatchObject({ of: { text: NAME, last: 9002n }, index: 12 });
  expect(classifyKey(`v2/manifest/${NAME}.json`)).toMatchObject({ of: { text: NAME } });
});

describe('hazard 34: what is not ours is named foreign, with the reason', () => {
  test.each([
    ['', /not below v2\/ or v1\//],
    [NAME, /not below v2\/ or v1\//],
    [`v3/${NAME}`, /not below v2\/ or v1\//],
    [`xv2/${NAME}`, /not below v2\/ or v1\//],
    [`v1/${NAME}`, /not below v1\/Backup-/],
    ['v2/lost+found', /is not named/],
    ['v2/a//b', /is not named/],
    [`v2/${NAME}/1`, /no chunk of it/],
    [`v2/${NAME}/0000000001/x`, /no chunk of it/],
    ['v2/manifest/readme.txt', /is none/],
    ['v2/manifest/readme.json', /manifest of nothing/],
    ['v2/manifest', /is not named/],
    [`v2/manifest/deep/${NAME}.json`, /is not named/],
    [`v2/${NAME}.tmp`, /unknown suffix "\.tmp"/],
  ])('%j', (key, reason) => {
    expect(classifyKey(key)).toEqual({ what: 'foreign', key, reason: expect.stringMatching(reason) });
  });

  test('no key makes the classifier throw', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (key) => {
        classifyKey(key);
        classifyKey(`v2/${key}`);
        classifyKey(`v1/Backup-1/${key}`);
      }),
    );
  });
});

test('hazard 35: a set that lies deeper, below a prefix that ends in v2, is another set', () => {
  expect(classifyKey(`v2/v2/${NAME}`)).toMatchObject({
    what: 'foreign',
    reason: expect.stringMatching(/prefix that ends in v2/),
  });
});
