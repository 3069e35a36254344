/** A restore as the command line would ask for it, for tests that call the function. */
import { fileURLToPath } from 'node:url';
import { type RestoreRequest, type RestoreResult, restore } from '../../src/restorer/restore.js';
import { openStore } from '../../src/store/open-store.js';
import { type EtcdVersion, etcdBinary } from '../servers/binaries.js';

/** Both must give the same. */
export const APPLIERS = ['native', 'embedded'] as const;
export type ApplierName = (typeof APPLIERS)[number];

export interface Heard {
  readonly warnings: string[];
  readonly infos: string[];
}

export type RestoreChange = Partial<RestoreRequest> & {
  readonly container: string;
  readonly dataDir: string;
  readonly prefix?: string;
  readonly version?: EtcdVersion;
};

export async function requestFor(
  { container, prefix = '', version = '3.6.16', ...change }: RestoreChange,
  heard: Heard = { warnings: [], infos: [] },
): Promise<RestoreRequest> {
  const settings = { provider: 'Local', container, prefix, homeDir: '/nowhere' };
  return {
    store: await openStore(settings),
    settings,
    command: 'etcdbr restore',
    name: 'default',
    initialCluster: 'default=http://localhost:2380',
    initialClusterToken: 'etcd-cluster',
    advertisePeerUrls: ['http://localhost:2380'],
    dryRun: false,
    base: undefined,
    exclude: [],
    allowOlder: false,
    timeline: undefined,
    replaceNewer: false,
    toRevision: undefined,
    toTimeMs: undefined,
    applier: 'native',
    pack: false,
    compact: false,
    quotaBytes: undefined,
    unknownLeaseTtlSeconds: undefined,
    bumpRevision: undefined,
    clearAlarms: false,
    etcdVersion: undefined,
    skipHashCheck: false,
    etcdBinary: etcdBinary(version),
    maxFetchers: 6,
    maxInflightBytes: 64 * 1024 * 1024,
    observer: {
      progress: () => undefined,
      warn: (text) => void heard.warnings.push(text),
      info: (text) => void heard.infos.push(text),
    },
    ...change,
  };
}

export async function restoreFrom(change: RestoreChange, heard?: Heard): Promise<RestoreResult> {
  return restore(await requestFor(change, heard));
}

export function fixture(name: string): string {
  return fileURLToPath(new URL(`../fixtures/${name}`, import.meta.url));
}
