/** An etcd, a place for its backups, and runs of the snapshotter over both; all gone after the test. */
import { afterEach } from 'vitest';
import type { EtcdVersion } from '../servers/binaries.js';
import { type EtcdOptions, startEtcd } from '../servers/etcd.js';
import { Backup, type BackupOptions, backupPlace } from './backup.js';

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

/** Called after the test, last first. */
export function cleanUp(cleanup: () => unknown): void {
  cleanups.push(cleanup);
}

export async function setUp(version: EtcdVersion, options: EtcdOptions = {}) {
  const place = await backupPlace();
  cleanUp(() => place.remove());
  const etcd = await startEtcd(version, options);
  cleanUp(() => etcd.destroy());
  const endpoint = await etcd.open();
  cleanUp(() => endpoint.close());
  const start = async (backupOptions: BackupOptions = {}) => {
    const backup = await Backup.start(etcd, place, backupOptions);
    cleanUp(() => backup.stop().catch(() => undefined));
    return backup;
  };
  return { etcd, endpoint, place, start };
}
