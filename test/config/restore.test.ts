import { resolve } from 'node:path';
import { expect, test } from 'vitest';
import { parseLogLevel } from '../../src/config/logging.js';
import { parseRestoreConfig } from '../../src/config/restore.js';
import { given } from './given.js';

test('hazard 30: a data directory is made absolute, and "~" is refused rather than taken for a name', () => {
  expect(parseRestoreConfig(given({ 'data-dir': ['new.etcd'] })).dataDir).toBe(resolve('new.etcd'));
  expect(() => parseRestoreConfig(given({ 'data-dir': ['~/etcd'] }))).toThrow(/~ is not expanded/);
  expect(() => parseRestoreConfig(given({ 'data-dir': [''] }))).toThrow(/--data-dir: is empty/);
});

test('a choice of state is passed on; none is undefined', () => {
  expect(parseRestoreConfig(given({}))).toMatchObject({ base: undefined, timeline: undefined, exclude: [] });
  const typed = { base: ['Full-1'], timeline: ['highest'], exclude: ['a', 'b,c'], 'allow-older': ['true'] };
  expect(parseRestoreConfig(given(typed))).toMatchObject({
    ...{ base: 'Full-1', timeline: 'highest', exclude: ['a', 'b,c'], allowOlder: true },
  });
});

test.each([
  [{ timeline: ['latest'] }, '--timeline: "latest": expected newest, highest'],
  [{ 'max-fetchers': ['0'] }, '--max-fetchers: "0": expected 1 to 64'],
  [{ 'max-txn-ops': ['0'] }, '--max-txn-ops: "0": expected a whole number of at least 1'],
  [{ 'auto-compaction-mode': ['never'] }, '--auto-compaction-mode: "never": expected periodic, revision'],
])('%j is refused', (typed, message) => {
  expect(() => parseRestoreConfig(given(typed as Record<string, string[]>))).toThrow(message);
});

test.each([
  [undefined, 'info'],
  ['debug', 'debug'],
  ['2', 'error'],
  ['4', 'info'],
  ['6', 'trace'],
])("log level %s, also as the Go tool's number, is %s", (typed, level) => {
  expect(parseLogLevel(given(typed === undefined ? {} : { 'log-level': [typed] }))).toBe(level);
});

test('log levels of the Go tool that would hide errors are refused', () => {
  expect(() => parseLogLevel(given({ 'log-level': ['0'] }))).toThrow(/--log-level/);
});
