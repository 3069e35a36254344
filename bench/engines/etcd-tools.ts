/** etcd's own tools and bbolt's, as `test/servers/etcd.sh` puts them into the cache. */
import { join } from 'node:path';
import { bboltBinary, etcdBinary } from '../../test/servers/binaries.js';
import type { Engine } from './engine.js';
import { PEER_VERSION } from './etcdbr.js';

export const etcdctl: Engine = {
  name: `etcdctl ${PEER_VERSION}`,
  role: 'peer',
  job(task) {
    const command = etcdBinary(PEER_VERSION, 'etcdctl');
    if (task.verb === 'full') {
      return { command, args: ['--endpoints', task.endpoint, 'snapshot', 'save', join(task.to, 'peer.db')] };
    }
    if (task.verb === 'watch') {
      return { command, args: ['--endpoints', task.endpoint, 'watch', '--prefix', ''] };
    }
    return undefined;
  },
};

/** `binary`: another one than the cache's. */
export function etcdutl(binary: string | undefined): Engine {
  const command = binary ?? etcdBinary(PEER_VERSION, 'etcdutl');
  return {
    name: binary === undefined ? `etcdutl ${PEER_VERSION}` : 'etcdutl',
    role: 'peer',
    job(task) {
      if (task.verb === 'check') return { command, args: ['snapshot', 'status', task.db] };
      if (task.verb === 'verify') return { command, args: ['snapshot', 'status', task.snapshot] };
      if (task.verb === 'restore-base') {
        return { command, args: ['snapshot', 'restore', task.snapshot, '--data-dir', task.dataDir] };
      }
      return undefined;
    },
  };
}

export const bbolt: Engine = {
  name: 'bbolt check',
  role: 'peer',
  job: (task) => (task.verb === 'check' ? { command: bboltBinary(), args: ['check', task.db] } : undefined),
};
