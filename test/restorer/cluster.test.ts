/** The flags that say which cluster is restored: as etcd would refuse them, and before anything is fetched. */
import { mkdir } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';
import { resolveCluster } from '../../src/native/index.js';
import { type ClusterFlags, checkCluster, shellWord, startCommand } from '../../src/restorer/cluster.js';
import { startEtcd } from '../servers/etcd.js';
import { keptPorts } from '../servers/ports.js';
import { storeWithFull } from './members-set-up.js';
import { restoreFrom } from './request.js';
import { cleanUp, testDir } from './set-up.js';

const dir = testDir('cluster');
const THREE = 'm1=http://a:2380,m2=http://b:2380,m3=http://c:2380';

function flags(initialCluster: string, advertised: string, name = 'm1'): ClusterFlags {
  return { name, initialCluster, initialClusterToken: 'etcd-cluster', advertisePeerUrls: [advertised] };
}

describe('accepted', () => {
  test.each([
    ['one of three', THREE, 'http://a:2380', THREE],
    [
      'two URLs, in any order',
      'm1=http://b:1,m2=http://c:1,m1=http://a:1',
      'http://b:1,http://a:1',
      'm1=http://a:1,m1=http://b:1,m2=http://c:1',
    ],
    [
      'blanks and empty items',
      ' m1 = http://a:1 ,, m2=http://b:1,',
      ' http://a:1',
      'm1=http://a:1,m2=http://b:1',
    ],
    ['IPv6', 'm1=http://[::1]:2380', 'http://[::1]:2380', 'm1=http://[::1]:2380'],
    ['unix', 'm1=unix://m1.sock:1', 'unix://m1.sock:1', 'm1=unix://m1.sock:1'],
    [
      'https and a name',
      'm1=https://etcd-0.etcd:2380',
      'https://etcd-0.etcd:2380',
      'm1=https://etcd-0.etcd:2380',
    ],
  ])('%s', (_, initialCluster, advertised, taken) => {
    expect(checkCluster(flags(initialCluster, advertised)).initialCluster).toBe(taken);
  });

  test('ids depend on URLs and token, not on names or on an order', () => {
    const ids = (name: string, initialCluster: string, token = 'etcd-cluster') =>
      resolveCluster({ name, initialCluster, token }).ids;
    const expected = ids('m1', THREE);
    expect(ids('x', 'z=http://c:2380,x=http://a:2380,y=http://b:2380')).toEqual(expected);
    const { clusterId, memberId } = ids('m1', THREE, 'another');
    expect(clusterId).not.toBe(expected.clusterId);
    expect(memberId).not.toBe(expected.memberId);
  });
});

describe('refused', () => {
  test.each([
    ['a name that is not in it', flags(THREE, 'http://d:2380', 'm4'), /"m4" is not in initial-cluster/],
    ['nothing', flags('', 'http://a:2380'), /give 1 to 100 members/],
    ['no URL', flags('m1', 'http://a:2380'), /"m1" is not of the form name=url/],
    ['no name', flags('=http://a:2380', 'http://a:2380'), /"" is not a usable member name/],
    [
      'one URL for two members',
      flags('m1=http://a:1,m2=http://a:1', 'http://a:1'),
      /http:\/\/a:1 is given twice/,
    ],
    ['one URL twice', flags('m1=http://a:1,m1=http://a:1', 'http://a:1'), /http:\/\/a:1 is given twice/],
    ['an unknown scheme', flags('m1=tcp://a:1', 'tcp://a:1'), /scheme must be http, https, unix or unixs/],
    ['no scheme', flags('m1=a:1', 'a:1'), /give scheme:\/\/host:port/],
    ['no port', flags('m1=http://a', 'http://a'), /must end in host:port/],
    ['a path', flags('m1=http://a:1/', 'http://a:1/'), /must not contain a path/],
    ['bare IPv6', flags('m1=http://::1:2380', 'http://::1:2380'), /put an IPv6 address in brackets/],
    [
      'other URLs',
      flags(THREE, 'http://b:2380'),
      /differ from those of "m1" in --initial-cluster \(http:\/\/a:2380\)/,
    ],
    ['the default', flags(THREE, 'http://localhost:2380'), /differ from those of "m1"/],
    ['one of two URLs', flags('m1=http://a:1,m1=http://b:1', 'http://a:1'), /differ from those of "m1"/],
    ['one more URL', flags('m1=http://a:1', 'http://a:1,http://b:1'), /differ from those of "m1"/],
  ])('%s', (_, given, message) => {
    expect(() => checkCluster(given)).toThrow(message);
    expect(() => checkCluster(given)).toThrow(expect.objectContaining({ code: 'USAGE' }));
  });

  test('and the flag that is missing is spelled out', () => {
    expect(() => checkCluster(flags(THREE, 'http://localhost:2380'))).toThrow(
      expect.objectContaining({
        hint: 'give the same URLs in both: --initial-advertise-peer-urls http://a:2380',
      }),
    );
  });

  test('before anything is fetched', async () => {
    await mkdir(dir.in('store'));
    const change = { container: dir.in('store'), dataDir: dir.in('data'), name: 'm4' };
    await expect(restoreFrom(change)).rejects.toMatchObject({ code: 'USAGE' });
  });
});

describe('the command that starts it', () => {
  const command = (initialCluster: string, advertised: string, dbBytes = 1_000_000) =>
    startCommand(checkCluster(flags(initialCluster, advertised)), '/data', dbBytes);

  test.each([
    ['an address', 'http://10.0.0.1:2380', 'http://10.0.0.1:2380'],
    ['IPv6', 'http://[::1]:2380', 'http://[::1]:2380'],
    ['localhost', 'http://localhost:2380', 'http://localhost:2380'],
    ['a name, which etcd does not bind', 'https://etcd-0.etcd:2380', 'https://0.0.0.0:2380'],
    ['a socket', 'unix://m1.sock:1', 'unix://m1.sock:1'],
  ])('listens at %s', (_, advertised, listens) => {
    expect(command(`m1=${advertised}`, advertised)).toContain(
      `--initial-advertise-peer-urls ${shellWord(advertised)} --listen-peer-urls ${shellWord(listens)}`,
    );
  });

  test.each([
    [2 ** 30, undefined],
    [3 * 2 ** 30, '8589934592'],
    [5 * 2 ** 30, '10737418240'],
  ])('hazards 17, 18: for a database of %i bytes has the quota %s', (dbBytes, quota) => {
    const [, found] =
      /--quota-backend-bytes (\d+)/.exec(command('m1=http://a:1', 'http://a:1', dbBytes)) ?? [];
    expect(found).toBe(quota);
  });

  test('an etcd whose peers speak TLS starts', async () => {
    const [port] = await keptPorts(1);
    const host = 'https://127.0.0.1';
    const { container, revision } = await storeWithFull(dir.in('store'), '3.6.16');
    const member = { name: 'm1', peerUrl: `${host}:${port}`, initialCluster: `m1=${host}:${port}` };
    const { ids } = await restoreFrom({
      ...{ container, dataDir: dir.in('data'), name: 'm1', initialCluster: member.initialCluster },
      advertisePeerUrls: [member.peerUrl],
    });
    const flags = ['--peer-auto-tls'];
    const etcd = await startEtcd('3.6.16', { dataDir: dir.in('data'), member, flags });
    cleanUp(() => etcd.destroy());
    const endpoint = await etcd.open();
    cleanUp(() => endpoint.close());
    const status = await endpoint.status();
    expect([status.memberId.toString(16), status.revision]).toEqual([ids.memberId, revision]);
    expect(await endpoint.memberList()).toMatchObject([{ name: 'm1', peerUrls: [member.peerUrl] }]);
  });
});

test('words that a shell would change are quoted', () => {
  expect([`/a b`, `it's`, 'http://a:1,b=2'].map(shellWord)).toEqual([
    `'/a b'`,
    `'it'\\''s'`,
    'http://a:1,b=2',
  ]);
});
