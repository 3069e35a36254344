/** The cluster that the restored member belongs to, and the command that starts it. */
import { BackupError } from '../errors.js';
import type { Cluster } from './build.js';

export interface ClusterFlags {
  readonly name: string;
  readonly initialCluster: string;
  readonly initialClusterToken: string;
  readonly advertisePeerUrls: readonly string[];
}

/** Names and peer URLs, as in `--initial-cluster`: "m1=http://a:2380,m2=http://b:2380,m1=http://c:2380". */
export function membersOf(initialCluster: string): ReadonlyMap<string, readonly string[]> {
  const members = new Map<string, string[]>();
  for (const item of initialCluster.split(',')) {
    const equals = item.indexOf('=');
    const name = item.slice(0, Math.max(equals, 0)).trim();
    members.set(name, [...(members.get(name) ?? []), item.slice(equals + 1).trim()]);
  }
  return members;
}

/** As etcd demands it: this member is in the cluster, under the URLs that it advertises. */
export function checkCluster(flags: ClusterFlags): Cluster {
  const urls = membersOf(flags.initialCluster).get(flags.name);
  if (urls === undefined) {
    throw new BackupError('USAGE', `has no member "${flags.name}"`, {
      object: `--initial-cluster ${flags.initialCluster}`,
      hint: `give --initial-cluster ${flags.name}=URL,… with every member, and --name for this one`,
    });
  }
  const advertised = flags.advertisePeerUrls.flatMap((text) => text.split(','));
  if (sorted(urls) !== sorted(advertised)) {
    throw new BackupError(
      'USAGE',
      `differ from those of "${flags.name}" in --initial-cluster (${urls.join(',')})`,
      {
        object: `--initial-advertise-peer-urls ${advertised.join(',')}`,
        hint: 'give the same URLs in both',
      },
    );
  }
  return { name: flags.name, initialCluster: flags.initialCluster, token: flags.initialClusterToken };
}

export function startCommand(flags: ClusterFlags, dataDir: string): string {
  const peers = flags.advertisePeerUrls.flatMap((text) => text.split(',')).join(',');
  const words = [
    'etcd',
    ...['--name', flags.name, '--data-dir', dataDir],
    ...['--initial-cluster', flags.initialCluster, '--initial-cluster-token', flags.initialClusterToken],
    ...['--initial-advertise-peer-urls', peers, '--listen-peer-urls', peers],
  ];
  return words.map(shellWord).join(' ');
}

/** Quoted only where a shell would change it. */
export function shellWord(word: string): string {
  return /^[A-Za-z0-9_/:=.,@%+-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}

function sorted(urls: readonly string[]): string {
  return [...urls].sort().join(' ');
}
