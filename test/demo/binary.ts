import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { type EtcdVersion, etcdBinary, releaseOf } from '../servers/binaries.js';

const PREFERRED = releaseOf('3.6');

/** The etcd of the demo: from the cache of test etcds; built into it first where Go is there. */
export function demoEtcd(say: (text: string) => void): EtcdVersion {
  if (isCached(PREFERRED)) return PREFERRED;
  say(`building etcd ${PREFERRED} into the cache, once (about two minutes)`);
  const script = fileURLToPath(new URL('../servers/etcd.sh', import.meta.url));
  const built = spawnSync('bash', [script, PREFERRED], { stdio: ['ignore', 'inherit', 'inherit'] });
  if (built.status === 0) return PREFERRED;
  process.stderr.write(
    `demo: no etcd to work with. Install Go, then run: bash test/servers/etcd.sh ${PREFERRED}\n`,
  );
  process.exit(1);
}

function isCached(version: EtcdVersion): boolean {
  try {
    etcdBinary(version);
    return true;
  } catch {
    return false;
  }
}
