import { expect, test } from 'vitest';
import { parseStoreConfig } from '../../src/config/store.js';
import { given } from './given.js';

const HOME = { HOME: '/home/someone' };

test('the container comes from the flag, else from the environment, else it is the one of the Go tool', () => {
  const flag = given({ 'store-container': ['/backups'] });
  const env = { ...HOME, STORAGE_CONTAINER: 'from-env' };
  expect(parseStoreConfig(flag, env).container).toBe('/backups');
  expect(parseStoreConfig(given({}), env).container).toBe('from-env');
  expect(parseStoreConfig(given({ 'store-container': [''] }), env).container).toBe('from-env');
  expect(parseStoreConfig(given({}), HOME)).toMatchObject({
    container: 'default.bkp',
    homeDir: '/home/someone',
  });
});

test('a provider that is not named is the local one', () => {
  expect(parseStoreConfig(given({ 'storage-provider': [''] }), HOME).provider).toBe('Local');
  expect(parseStoreConfig(given({ 'storage-provider': ['S3'] }), HOME).provider).toBe('S3');
});

test('prefix and temp directory are passed on as typed', () => {
  const typed = given({ 'store-prefix': ['env1/main'], 'snapstore-temp-directory': ['/big'] });
  expect(parseStoreConfig(typed, HOME)).toMatchObject({ prefix: 'env1/main', tempDir: '/big' });
});

test('parts below what S3 takes are refused', () => {
  expect(() => parseStoreConfig(given({ 'min-chunk-size': ['1024'] }), HOME)).toThrow(
    '--min-chunk-size: "1024": expected a whole number of at least 5242880',
  );
});
