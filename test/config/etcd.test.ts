import { expect, test } from 'vitest';
import { parseEtcdConfig } from '../../src/config/etcd.js';
import { given } from './given.js';

test('by default the local etcd without TLS, and verified as soon as there is TLS', () => {
  expect(parseEtcdConfig(given({}))).toEqual({
    endpoints: ['http://127.0.0.1:2379'],
    insecureSkipVerify: false,
    connectionTimeoutMs: 30_000,
    snapshotTimeoutMs: 0,
  });
});

test('credentials and certificates are passed on', () => {
  const typed = {
    cert: ['c.pem'],
    key: ['k.pem'],
    cacert: ['ca.pem'],
    endpoints: ['https://a:1,https://b:2'],
  };
  const users = { 'etcd-username': ['root'], 'etcd-password': ['secret'] };
  expect(parseEtcdConfig(given({ ...typed, ...users }))).toMatchObject({
    ...{ endpoints: ['https://a:1', 'https://b:2'], username: 'root', password: 'secret' },
    ...{ cert: 'c.pem', key: 'k.pem', cacert: 'ca.pem' },
  });
});

test.each([
  [{ 'etcd-username': ['root'] }, '--etcd-username: is given without --etcd-password'],
  [{ 'etcd-password': ['x'] }, '--etcd-password: is given without --etcd-username'],
  [{ cert: ['c.pem'] }, '--cert: is given without --key'],
  [{ endpoints: [''] }, '--endpoints: is empty'],
  [{ endpoints: ['ftp://a:1'] }, 'expected http://host:port or https://host:port'],
  [{ endpoints: ['a'] }, 'expected http://host:port'],
  [{ endpoints: ['http://a:1'], 'insecure-transport': ['false'] }, 'is not encrypted'],
])('%j is refused', (typed, message) => {
  expect(() => parseEtcdConfig(given(typed as Record<string, string[]>))).toThrow(message);
});

test('a password is never in a message', () => {
  const typed = { 'etcd-password': ['hunter2'] };
  expect(() => parseEtcdConfig(given(typed))).toThrow(/^(?!.*hunter2)/);
});
