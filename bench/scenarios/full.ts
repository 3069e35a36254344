/** A full of a large etcd into a Local store, beside `etcdctl snapshot save` from the same etcd. */
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { etcdBinary } from '../../test/servers/binaries.js';
import { startEtcd } from '../../test/servers/etcd.js';
import { removeTempDir, tempDir } from '../../test/servers/process.js';
import { copyOfMember, program } from '../datasets.js';
import { interleave, measure } from '../measure.js';
import { head, ratio, row } from '../report.js';

const VERSION = '3.5.35';

export async function full(mib: number, rounds: number): Promise<string> {
  const dir = tempDir('bench-full');
  try {
    await copyOfMember(mib, join(dir, 'data'));
    const etcd = await startEtcd(VERSION, {
      dataDir: join(dir, 'data'),
      flags: ['--quota-backend-bytes', '34359738368'],
    });
    try {
      const results = await interleave(rounds, {
        etcdbr: () => etcdbr(etcd.endpoint, dir),
        etcdctl: () => etcdctl(etcd.endpoint, join(dir, 'peer.db')),
      });
      const { etcdbr: ours = [], etcdctl: peer = [] } = results;
      return [
        head,
        row('etcdbr snapshot --once full (zstd)', ours, ratio(ours, peer)),
        row('etcdctl snapshot save', peer),
      ].join('\n');
    } finally {
      await etcd.destroy();
    }
  } finally {
    await removeTempDir(dir);
  }
}

async function etcdbr(endpoint: string, dir: string) {
  const store = ['--store-container', join(dir, 'store'), '--snapstore-temp-directory', join(dir, 'tmp')];
  await rm(join(dir, 'store'), { recursive: true, force: true });
  return measure(program, ['snapshot', '--once', 'full', '--endpoints', endpoint, ...store]);
}

async function etcdctl(endpoint: string, path: string) {
  await rm(path, { force: true });
  return measure(etcdBinary(VERSION, 'etcdctl'), ['--endpoints', endpoint, 'snapshot', 'save', path]);
}
