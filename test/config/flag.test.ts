import { describe, expect, test } from 'vitest';
import { backupFlags } from '../../src/config/backup.js';
import { etcdFlags } from '../../src/config/etcd.js';
import {
  bool,
  choice,
  duration,
  type FlagSet,
  integer,
  laterWarnings,
  list,
  parseFlags,
  repeated,
  text,
} from '../../src/config/flag.js';
import { restoreFlags } from '../../src/config/restore.js';
import { storeFlags } from '../../src/config/store.js';
import { BackupError } from '../../src/errors.js';
import { given } from './given.js';

const FLAGS = {
  endpoints: list('endpoints', ['a'], 'h'),
  urls: repeated('urls', ['a'], 'h'),
  name: text('name', 'default', 'h'),
  fast: bool('fast', false, 'h'),
  count: integer('count', 3, 'h', { min: 1, max: 9 }),
  bytes: integer('bytes', 3, 'h', { min: 1 }),
  periodMs: duration('period', 20_000, 'h', { min: 1_000 }),
  policy: choice('policy', ['', 'gzip', 'zstd'], '', 'h'),
  soon: text('soon', '', 'h', { later: 'the sidecar' }),
};

test('what was not typed has its default, and the result cannot be changed', () => {
  const values = parseFlags(FLAGS, given({}));
  expect(values).toMatchObject({
    endpoints: ['a'],
    name: 'default',
    fast: false,
    count: 3,
    periodMs: 20_000,
  });
  expect(Object.isFrozen(values)).toBe(true);
});

test("what was typed is read in the Go tool's syntax", () => {
  const values = parseFlags(
    FLAGS,
    given({
      endpoints: ['http://a:1,http://b:2', 'http://c:3', ''],
      urls: ['http://a:1,http://b:2', 'http://c:3'],
      name: ['first', 'last'],
      fast: ['T'],
      count: ['9'],
      period: ['1m30s'],
      policy: ['zstd'],
    }),
  );
  expect(values).toMatchObject({
    endpoints: ['http://a:1', 'http://b:2', 'http://c:3'],
    urls: ['http://a:1,http://b:2', 'http://c:3'],
    name: 'last',
    fast: true,
    count: 9,
    periodMs: 90_000,
    policy: 'zstd',
  });
});

describe('a wrong value names the flag, itself and what is allowed', () => {
  test.each([
    ['fast', 'yes', '--fast: "yes": expected true or false'],
    ['count', '10', '--count: "10": expected 1 to 9'],
    ['count', '0', '--count: "0": expected 1 to 9'],
    ['bytes', '1.5', '--bytes: "1.5": expected a whole number of at least 1'],
    ['bytes', '', '--bytes: "": expected a whole number of at least 1'],
    ['bytes', '9223372036854775807', '--bytes: "9223372036854775807": expected 1 to 9007199254740991'],
    ['period', '20', '--period: "20": expected a duration such as 20s, 1h30m or 100ms'],
    ['period', '100ms', '--period: "100ms": expected a duration of at least 1s'],
    ['policy', 'zip', '--policy: "zip": expected gzip, zstd'],
  ])('--%s %s', (name, value, message) => {
    const read = () => parseFlags(FLAGS, given({ [name]: [value] }));
    expect(read).toThrow(message);
    expect(read).toThrow(BackupError);
  });
});

test('a flag whose feature is not there yet is read, and told once', () => {
  expect(laterWarnings(FLAGS, given({ soon: ['x', 'y'], name: ['z'] }))).toEqual([
    '--soon has no effect yet: the sidecar is not there',
  ]);
  expect(laterWarnings(FLAGS, given({}))).toEqual([]);
});

describe("the Go tool's flags, with its defaults", () => {
  test.each<[string, FlagSet, Record<string, string>]>([
    [
      'etcd',
      etcdFlags,
      {
        ...{
          endpoints: 'http://127.0.0.1:2379',
          'service-endpoints': '',
          'etcd-username': '',
          'etcd-password': '',
        },
        ...{ 'etcd-connection-timeout': '30s', 'etcd-defrag-timeout': '8m0s', 'insecure-transport': 'true' },
        ...{ cert: '', key: '', cacert: '' },
        // Decision 8: the certificate is verified, and only standstill ends a snapshot.
        ...{ 'insecure-skip-tls-verify': 'false', 'etcd-snapshot-timeout': '0s' },
      },
    ],
    [
      'store',
      storeFlags,
      {
        ...{ 'store-container': '', 'store-endpoint-override': '', 'store-prefix': '' },
        ...{ 'max-parallel-chunk-uploads': '5', 'min-chunk-size': '5242880' },
        ...{ 'snapstore-temp-directory': '/tmp', 'storage-provider': 'Local' },
      },
    ],
    [
      'snapshotter',
      backupFlags,
      {
        ...{
          schedule: '0 */1 * * *',
          'delta-snapshot-period': '20s',
          'delta-snapshot-memory-limit': '10485760',
        },
        ...{
          'garbage-collection-period': '1m0s',
          'garbage-collection-policy': 'Exponential',
          'max-backups': '7',
        },
        ...{ 'delta-snapshot-retention-period': '0s', 'defragmentation-schedule': '0 0 */3 * *' },
        ...{ 'backoff-multiplier': '2', 'backoff-attempt-limit': '6', 'backoff-threshold-time': '2m8s' },
        ...{ 'compress-snapshots': 'true' },
      },
    ],
    [
      'restorer',
      restoreFlags,
      {
        ...{ 'initial-cluster': 'default=http://localhost:2380', 'initial-cluster-token': 'etcd-cluster' },
        ...{
          'data-dir': 'default.etcd',
          'initial-advertise-peer-urls': 'http://localhost:2380',
          name: 'default',
        },
        ...{ 'skip-hash-check': 'false', 'max-fetchers': '6', 'max-call-send-message-size': '10485760' },
        ...{
          'max-request-bytes': '10485760',
          'max-txn-ops': '10240',
          'embedded-etcd-quota-bytes': '8589934592',
        },
        ...{ 'auto-compaction-mode': 'periodic', 'auto-compaction-retention': '30m' },
      },
    ],
  ])('%s', (_, flags, expected) => {
    const shown = Object.values(flags).map((flag) => [flag.name, flag.show(flag.fallback)]);
    expect(Object.fromEntries(shown)).toMatchObject(expected);
  });

  test('its short names, none of them twice in a command', () => {
    const shorts = (...sets: FlagSet[]) =>
      sets
        .flatMap((set) => Object.values(set))
        .flatMap(({ short, name }) => (short ? [`${short} ${name}`] : []));
    const snapshot = shorts(etcdFlags, storeFlags, backupFlags);
    expect(snapshot).toEqual(expect.arrayContaining(['e endpoints', 's schedule', 'm max-backups']));
    expect(shorts(storeFlags, restoreFlags)).toEqual(['d data-dir']);
    for (const set of [snapshot, shorts(storeFlags, restoreFlags)]) {
      expect(new Set(set.map((short) => short[0])).size).toBe(set.length);
    }
  });
});
