/** etcd-backup-restore, the tool that this one replaces. */
import { basename, dirname, join } from 'node:path';
import type { Engine } from './engine.js';

const QUOTA_BYTES = 64 * 1024 ** 3;

export function goTool(binary: string | undefined): Engine {
  return {
    name: 'the Go tool',
    role: 'peer',
    job(task) {
      if (task.verb !== 'restore' || !task.set.gardener) return undefined;
      if (binary === undefined) return 'no --peer PATH was given';
      // It takes a container below $HOME only.
      const home = dirname(task.set.container);
      const args = [
        'restore',
        '--data-dir',
        task.dataDir,
        '--storage-provider',
        'Local',
        '--store-container',
        basename(task.set.container),
        '--restoration-temp-snapshots-dir',
        join(dirname(task.dataDir), 'go-tool-temp'),
        '--embedded-etcd-quota-bytes',
        `${QUOTA_BYTES}`,
      ];
      return { command: binary, args, env: { HOME: home } };
    },
  };
}
