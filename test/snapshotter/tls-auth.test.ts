import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { startEtcd } from '../servers/etcd.js';
import { Load } from '../servers/load.js';
import { removeTempDir, tempDir } from '../servers/process.js';
import { makeTlsFiles } from '../servers/tls.js';
import { Backup, backupPlace } from './backup.js';
import { proveSet } from './prove-set.js';
import { cleanUp } from './set-up.js';

const TOKEN_TTL_SECONDS = 3;

describe.each(['3.5.35', '3.7.3'] as const)('etcd %s', (version) => {
  test('TLS, client certificate, user and password, over several lives of a token, with a cut in between', async () => {
    const dir = tempDir('tls');
    cleanUp(() => removeTempDir(dir));
    const tls = await makeTlsFiles(dir);
    const flags = ['--auth-token-ttl', String(TOKEN_TTL_SECONDS)];
    const etcd = await startEtcd(version, { tls, clientCertAuth: true, flags });
    cleanUp(() => etcd.destroy());
    await etcd.enableAuth();
    const endpoint = await etcd.open();
    cleanUp(() => endpoint.close());
    const place = await backupPlace();
    cleanUp(() => place.remove());
    const load = new Load(endpoint, { seed: 6, compactBehind: 0 });
    await load.run(50);

    const backup = await Backup.start(etcd, place);
    cleanUp(() => backup.stop().catch(() => undefined));
    await backup.saw('full-stored');
    for (let life = 1; life <= 3; life++) {
      await load.run(60);
      await sleep(TOKEN_TTL_SECONDS * 1_000 + 500);
      if (life === 2) await etcd.restart();
    }
    await load.run(60);
    await backup.stop();
    expect(backup.of('failed')).toEqual([]);
    expect(backup.of('full-stored')).toHaveLength(1);
    await proveSet(place.store, etcd, endpoint);
  });
});

test('a wrong password is told at once', async () => {
  const etcd = await startEtcd('3.6.16');
  cleanUp(() => etcd.destroy());
  await etcd.enableAuth();
  const place = await backupPlace();
  cleanUp(() => place.remove());
  const open = etcd.connection.bind(etcd);
  etcd.connection = () => open({ password: 'wrong' });
  const backup = await Backup.start(etcd, place);
  await expect(backup.ended).rejects.toMatchObject({ code: 'PERMISSION' });
});
