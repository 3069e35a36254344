/** Where `etcd.sh` puts the etcds that tests, demo and benchmarks run; a missing one says how to get it. */
import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';

export const ETCD_VERSIONS = ['3.4.23', '3.5.35', '3.6.16', '3.7.3'] as const;
export type EtcdVersion = (typeof ETCD_VERSIONS)[number];
export type EtcdProgram = 'etcd' | 'etcdctl' | 'etcdutl';

const cacheDir = join(process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'etcdbr');

/** Directories that stand for the cache's. */
const elsewhere = new Map<EtcdVersion, string>();

/** For a machine that has an etcd already (the demo): the one in `dir` stands for this release. */
export function useEtcdIn(dir: string, version: EtcdVersion): void {
  elsewhere.set(version, dir);
}

/** "3.5" as fixtures name it, to the release that is tested. */
export function releaseOf(minor: string): EtcdVersion {
  const found = ETCD_VERSIONS.find((version) => version.startsWith(`${minor}.`));
  if (found === undefined)
    throw new Error(`no test etcd of version ${minor}; there are ${ETCD_VERSIONS.join(' ')}`);
  return found;
}

export function etcdBinary(version: EtcdVersion, program: EtcdProgram = 'etcd'): string {
  if (program === 'etcdutl' && version.startsWith('3.4.'))
    throw new Error('etcd 3.4 has no etcdutl; use etcdctl');
  return existing(join(elsewhere.get(version) ?? join(cacheDir, 'etcd', version), program), version);
}

export function bboltBinary(): string {
  return existing(join(cacheDir, 'bbolt', 'bbolt'), 'bbolt');
}

function existing(path: string, argument: string): string {
  if (existsSync(path)) return path;
  throw new Error(`${path} is missing; get it with: bash test/servers/etcd.sh ${argument}`);
}
