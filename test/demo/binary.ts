import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type EtcdVersion, etcdBinary, releaseOf, useEtcdIn } from '../servers/binaries.js';

const PREFERRED = releaseOf('3.6');

/** The etcd of the demo: from the cache of test etcds, else the one in PATH, else built into the cache where Go is. */
export function demoEtcd(say: (text: string) => void): EtcdVersion {
  if (isCached(PREFERRED)) return PREFERRED;
  const found = etcdInPath();
  if (found !== undefined) return found;
  say(`building etcd ${PREFERRED} into the cache, once (about two minutes)`);
  const script = fileURLToPath(new URL('../servers/etcd.sh', import.meta.url));
  const built = spawnSync('bash', [script, PREFERRED], { stdio: ['ignore', 'inherit', 'inherit'] });
  if (built.status === 0) return PREFERRED;
  process.stderr.write(
    `demo: no etcd to work with. Install Go, then run: bash test/servers/etcd.sh ${PREFERRED}\n`,
  );
  process.exit(1);
}

/** Undefined where there is none, or one of a version that is not tested. */
function etcdInPath(): EtcdVersion | undefined {
  const dir = (process.env.PATH ?? '').split(delimiter).find((entry) => existsSync(join(entry, 'etcd')));
  if (dir === undefined) return undefined;
  const { stdout } = spawnSync(join(dir, 'etcd'), ['--version'], { encoding: 'utf8' });
  const minor = /^etcd Version: (3\.[4-7])\./m.exec(stdout ?? '')?.[1];
  if (minor === undefined) return undefined;
  useEtcdIn(dir, releaseOf(minor));
  return releaseOf(minor);
}

function isCached(version: EtcdVersion): boolean {
  try {
    etcdBinary(version);
    return true;
  } catch {
    return false;
  }
}
