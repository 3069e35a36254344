import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { RawChannel } from '../../src/etcd/channel.js';
import { EtcdClient } from '../../src/etcd/client.js';
import type { EtcdConnection } from '../../src/etcd/connection.js';
import { streamSnapshot } from '../../src/etcd/snapshot-stream.js';
import { openWatch } from '../../src/etcd/watch.js';
import { ETCD_VERSIONS } from '../servers/binaries.js';
import { startEtcd, type TestEtcd } from '../servers/etcd.js';
import { removeTempDir, tempDir } from '../servers/process.js';
import { FlakyProxy } from '../servers/proxy.js';
import { makeTlsFiles, type TlsFiles } from '../servers/tls.js';
import { CollectingSink } from './collecting-sink.js';

/** etcd counts in whole seconds and looks once a second. */
const TOKEN_TTL_SECONDS = 2;
const TOKEN_GONE_MS = 4_500;

describe.each(ETCD_VERSIONS)(
  'etcd %s over TLS with client certificates, and with user and password',
  (version) => {
    let dir: string;
    let tls: TlsFiles;
    let etcd: TestEtcd;

    beforeAll(async () => {
      dir = tempDir('tls');
      tls = await makeTlsFiles(dir);
      const flags = ['--auth-token-ttl', String(TOKEN_TTL_SECONDS)];
      etcd = await startEtcd(version, { tls, clientCertAuth: true, flags });
      await etcd.enableAuth();
    });
    afterAll(async () => {
      await etcd?.destroy();
      await removeTempDir(dir);
    });

    async function withClient<T>(
      change: Partial<EtcdConnection>,
      use: (client: EtcdClient) => Promise<T>,
    ): Promise<T> {
      const client = await EtcdClient.open(etcd.connection(change));
      try {
        return await use(client);
      } finally {
        client.close();
      }
    }

    test('short calls, a watch and a snapshot work', async () => {
      const key = Buffer.from('k');
      await withClient({}, async (client) => {
        const revision = (await client.status()).revision;
        const sink = new CollectingSink(revision + 1n);
        const watch = openWatch({ client, startRevision: revision + 1n, sink, outageLimitMs: 5_000 });
        await watch.opened;
        await client.endpoints[0]?.kv.put({ key, value: Buffer.from('v') });
        expect(await watch.reached(revision + 1n, 5_000)).toBe(true);
        await watch.close();
        expect(await client.getAt(key, revision + 1n)).toMatchObject({ value: Buffer.from('v') });
        let bytes = 0;
        const push = (message: Uint8Array) => {
          bytes += message.length;
          return 'more' as const;
        };
        const options = { noProgressTimeoutMs: 5_000 };
        await streamSnapshot(client.connection, { push, drained: async () => undefined }, options);
        expect(bytes).toBeGreaterThan(16_384);
      });
    });

    test('a token that ran out is renewed: short calls, raw calls, new streams', async () => {
      const channel = await RawChannel.open(etcd.connection(), etcd.endpoint, { windowBytes: 65_536 });
      const range = () =>
        channel.unary('/etcdserverpb.KV/Range', Buffer.from([0x0a, 1, 0]), { timeoutMs: 5_000 });
      await withClient({}, async (client) => {
        await client.getAt(Buffer.from('k'), 0n);
        await range();
        await new Promise((resolve) => setTimeout(resolve, TOKEN_GONE_MS));
        await client.getAt(Buffer.from('k'), 0n);
        await range();
      });
      channel.close();
    });

    test('an open watch outlives its token, and a restart of etcd that drops all tokens', async () => {
      await withClient({}, async (client) => {
        const { revision } = await client.status();
        const sink = new CollectingSink(revision + 1n);
        const watch = openWatch({ client, startRevision: revision + 1n, sink, outageLimitMs: 10_000 });
        await watch.opened;
        await new Promise((resolve) => setTimeout(resolve, TOKEN_GONE_MS));
        await etcd.ctl('put', 'after', 'expiry');
        expect(await watch.reached(revision + 1n, 5_000)).toBe(true);
        await etcd.restart();
        await etcd.ctl('put', 'after', 'restart');
        expect(await watch.reached(revision + 2n, 10_000)).toBe(true);
        await watch.close();
      });
    });

    test('users that change under a token do not stop us', async () => {
      await withClient({}, async (client) => {
        await client.getAt(Buffer.from('k'), 0n);
        await etcd.ctl('user', 'add', 'someone:else');
        await client.getAt(Buffer.from('k'), 0n);
        await etcd.ctl('user', 'delete', 'someone');
      });
    });

    test('what is wrong is said: password, user, CA, client certificate, scheme', async () => {
      const key = Buffer.from('k');
      const code = (change: Partial<EtcdConnection>) =>
        withClient(change, (client) => client.getAt(key, 0n)).then(
          () => 'accepted',
          (error) => error.code,
        );
      expect(await code({})).toBe('accepted');
      expect(await code({ password: 'wrong' })).toBe('PERMISSION');
      expect(await code({ username: 'nobody' })).toBe('PERMISSION');
      expect(await code({ cacert: tls.clientCert })).toBe('PERMISSION');
      expect(await code({ cacert: undefined })).toBe('PERMISSION');
      expect(await code({ cacert: undefined, insecureSkipVerify: true })).toBe('accepted');
      expect(await code({ cert: undefined, key: undefined })).toMatch(/PERMISSION|UNAVAILABLE/);
      expect(await code({ endpoints: [etcd.endpoint.replace('https', 'http')] })).toMatch(
        /PERMISSION|UNAVAILABLE/,
      );
      expect(await code({ endpoints: [etcd.endpoint.replace('https://', '')] })).toBe('accepted');
      const elsewhere = await FlakyProxy.open(etcd.clientPort, '127.0.0.2'); // not in the certificate
      const endpoints = [elsewhere.endpoint.replace('http', 'https')];
      expect(await code({ endpoints })).toBe('PERMISSION');
      expect(await code({ endpoints, insecureSkipVerify: true })).toBe('accepted');
      await elsewhere.close();
      expect(await code({ cacert: '/nowhere/ca.pem' })).toBe('USAGE');
      expect(await code({ key: undefined })).toBe('USAGE');
    });

    test('a certificate without a user is not enough when auth is on, and the hint says so', async () => {
      const client = withClient({ username: undefined, password: undefined }, (c) =>
        c.getAt(Buffer.from('k'), 0n),
      );
      await expect(client).rejects.toMatchObject({ code: 'PERMISSION' });
    });
  },
);

test('a user given to an etcd without auth is no obstacle', async () => {
  const etcd = await startEtcd('3.6.16');
  const client = await EtcdClient.open(etcd.connection({ username: 'root', password: 'x' }));
  expect((await client.status()).revision).toBe(1n);
  expect(await client.getAt(Buffer.from('k'), 1n)).toBeNull();
  client.close();
  await etcd.destroy();
});
