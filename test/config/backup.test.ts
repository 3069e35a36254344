import { describe, expect, test } from 'vitest';
import { parseBackupConfig } from '../../src/config/backup.js';
import { given } from './given.js';

describe('decision 7: what is written', () => {
  test.each([
    ['etcdbr', {}, { gardener: false, fullCodec: 'zstd', deltaFormat: 'ebd' }],
    ['etcdbrctl', {}, { gardener: true, fullCodec: 'gzip', deltaFormat: 'json', jsonCodec: 'gzip' }],
    ['etcdbrctl', { compat: ['none'] }, { gardener: false, fullCodec: 'zstd', deltaFormat: 'ebd' }],
    ['etcdbr', { compat: ['gardener'] }, { gardener: true, fullCodec: 'gzip', deltaFormat: 'json' }],
    ['etcdbr', { 'delta-format': ['json'] }, { gardener: false, fullCodec: 'zstd', deltaFormat: 'json' }],
    ['etcdbr', { 'compress-snapshots': ['false'] }, { fullCodec: 'none', jsonCodec: 'none' }],
    ['etcdbr', { 'compression-policy': ['gzip'] }, { fullCodec: 'gzip' }],
    ['etcdbr', { 'compression-policy': ['none'] }, { fullCodec: 'none' }],
    ['etcdbr', { 'compression-policy': ['lzw'] }, { fullCodec: 'lzw', jsonCodec: 'lzw' }],
    ['etcdbrctl', { 'compression-policy': ['zlib'] }, { fullCodec: 'zlib', jsonCodec: 'zlib' }],
  ] as const)('%s %j', (program, typed, expected) => {
    expect(parseBackupConfig(given(typed), program)).toMatchObject(expected);
  });

  test.each([
    [{ 'delta-format': ['ebd'] }, /--delta-format: ebd cannot be restored by the Go tool/],
    [{ 'compression-policy': ['zstd'] }, /--compression-policy: zstd cannot be restored by the Go tool/],
    [{ 'compression-policy': ['zip'] }, /expected gzip, zlib, lzw, zstd, none/],
    [{ compat: ['yes'] }, /--compat: "yes": expected gardener, none/],
    [{ once: ['both'] }, /--once: "both": expected full, delta/],
  ])('hazard 45: etcdbrctl %j is refused', (typed, message) => {
    expect(() => parseBackupConfig(given(typed as Record<string, string[]>), 'etcdbrctl')).toThrow(message);
  });
});

describe('hazard 11: deltas off', () => {
  test.each(['0', '0s', '999ms'])('--delta-snapshot-period %s', (period) => {
    const typed = { 'delta-snapshot-period': [period] };
    expect(parseBackupConfig(given(typed), 'etcdbr').deltaPeriodMs).toBe(0);
    expect(() => parseBackupConfig(given({ ...typed, once: ['delta'] }), 'etcdbr')).toThrow(/deltas are off/);
  });

  test('from one second on they are taken', () => {
    const config = parseBackupConfig(given({ 'delta-snapshot-period': ['1s'] }), 'etcdbr');
    expect(config.deltaPeriodMs).toBe(1_000);
  });
});

test('a memory limit of 0 is the default, as in the Go tool', () => {
  const config = parseBackupConfig(given({ 'delta-snapshot-memory-limit': ['0'] }), 'etcdbr');
  expect(config.deltaBytes).toBe(10_485_760);
});

test('directories that are not named are left to the program', () => {
  const config = parseBackupConfig(given({}), 'etcdbr');
  expect(config).toMatchObject({ once: undefined, spoolDir: undefined, dataDir: undefined });
  expect(Object.isFrozen(config)).toBe(true);
});
