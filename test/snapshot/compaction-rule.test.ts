import { expect, test } from 'vitest';
import { keepsTombstonesAt } from '../../src/snapshot/compaction-rule.js';

test.each([
  ['3.3.27', true],
  ['3.4.23', false],
  ['3.4.34', true],
  ['3.5.15', false],
  ['v3.5.16', true],
  ['3.5.35', true],
  ['3.6.0', true],
  ['3.7.3', true],
  ['3.5', true],
  ['', true],
  [undefined, true],
])('etcd %s: %s', (version, keeps) => {
  expect(keepsTombstonesAt(version)).toBe(keeps);
});
