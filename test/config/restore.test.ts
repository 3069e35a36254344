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
  [{ 'to-revision': ['0'] }, '--to-revision: "0": expected a revision'],
  [{ 'to-revision': ['9223372036854775808'] }, '--to-revision: "9223372036854775808": expected a revision'],
  [{ 'to-time': ['2026-11-30T03:12:00'] }, 'expected a time with its zone'],
  [{ 'to-time': ['2026-02-30T99:12:00Z'] }, 'expected a time with its zone'],
  [{ 'to-time': ['2026-11-30T03:12:00Z'], 'to-revision': ['7'] }, '--to-revision, --to-time: only one'],
  [{ 'bump-revision': ['7'] }, '--bump-revision, --mark-compacted: go together'],
  [{ 'mark-compacted': ['true'] }, '--bump-revision, --mark-compacted: go together'],
  [{ 'etcd-version': ['3.8'] }, '--etcd-version: "3.8": expected 3.4, 3.5, 3.6 or 3.7'],
  [{ 'etcd-version': ['3'] }, '--etcd-version: "3": expected 3.4, 3.5, 3.6 or 3.7'],
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

test.each([
  ['2026-11-30T03:12:00Z', Date.UTC(2026, 10, 30, 3, 12)],
  ['2026-11-30 03:12:00.5+01:00', Date.UTC(2026, 10, 30, 2, 12, 0, 500)],
  ['2026-11-30t03:12z', Date.UTC(2026, 10, 30, 3, 12)],
])('the time %s is read', (typed, timeMs) => {
  expect(parseRestoreConfig(given({ 'to-time': [typed] }))).toMatchObject({ toTimeMs: timeMs });
});

test.each([
  ['3.6', '3.6'],
  ['v3.4.23', '3.4'],
])('--etcd-version %s is etcd %s', (typed, version) => {
  expect(parseRestoreConfig(given({ 'etcd-version': [typed] }))).toMatchObject({ etcdVersion: version });
});
