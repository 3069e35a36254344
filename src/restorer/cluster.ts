/** The cluster that the restored member belongs to, and the command that starts it. */
import { isIP } from 'node:net';
import { BackupError } from '../errors.js';
import { type ClusterRequest, resolveCluster } from '../native/index.js';

export interface ClusterFlags {
  readonly name: string;
  readonly initialCluster: string;
  readonly initialClusterToken: string;
  readonly advertisePeerUrls: readonly string[];
}

/** Checked; `initialCluster` is free of blanks and empty items, which an etcd would take into a name. */
export interface Cluster extends ClusterRequest {
  /** Every member's name. */
  readonly members: readonly string[];
  /** Of this member. */
  readonly peerUrls: readonly string[];
}

/**
 * As etcd demands it: names, URLs and token give ids, this member is in the cluster, under the URLs that it advertises.
 * Stricter than etcd in one point: URLs must be equal as text, where etcd asks a name server whether they mean the same.
 */
export function checkCluster(flags: ClusterFlags): Cluster {
  const { name, initialCluster, initialClusterToken: token } = flags;
  const { members } = resolveCluster({ name, initialCluster, token });
  const own = members.find((member) => member.name === name)?.peerUrls ?? [];
  const advertised = flags.advertisePeerUrls.flatMap((text) => text.split(',')).map((url) => url.trim());
  if (sorted(own) !== sorted(advertised)) {
    throw new BackupError('USAGE', `differ from those of "${name}" in --initial-cluster (${own.join(',')})`, {
      object: `--initial-advertise-peer-urls ${advertised.join(',')}`,
      hint: `give the same URLs in both: --initial-advertise-peer-urls ${shellWord(own.join(','))}`,
    });
  }
  const items = members.flatMap((member) => member.peerUrls.map((url) => `${member.name}=${url}`));
  return {
    ...{ name, token, initialCluster: items.join(',') },
    ...{ members: members.map((member) => member.name), peerUrls: own },
  };
}

/** etcd's default, and the largest that its documentation recommends. */
const DEFAULT_QUOTA_BYTES = 2 * 1024 ** 3;
const LARGE_QUOTA_BYTES = 8 * 1024 ** 3;

/** Other flags of the etcd (clients, TLS) are not known here. */
export function startCommand(
  { name, initialCluster, token, peerUrls }: Cluster,
  dataDir: string,
  dbBytes: number,
): string {
  const peers = peerUrls.join(',');
  const listen = peerUrls.map(listenUrl).join(',');
  const words = [
    'etcd',
    ...['--name', name, '--data-dir', dataDir],
    ...['--initial-cluster', initialCluster, '--initial-cluster-token', token],
    ...['--initial-advertise-peer-urls', peers, '--listen-peer-urls', listen],
    ...quotaFlag(dbBytes),
  ];
  return words.map(shellWord).join(' ');
}

/** Left out where etcd's default is enough: with a database above its quota it takes no writes (hazards 17, 18). */
function quotaFlag(dbBytes: number): string[] {
  const wanted = 2 * dbBytes;
  if (wanted <= DEFAULT_QUOTA_BYTES) return [];
  return ['--quota-backend-bytes', String(Math.max(LARGE_QUOTA_BYTES, wanted))];
}

/** Quoted only where a shell would change it. */
export function shellWord(word: string): string {
  return /^[A-Za-z0-9_/:=.,@%+-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}

/** etcd listens at addresses only; a name is the network's business. */
function listenUrl(url: string): string {
  const [, scheme, host = '', port] = /^(https?):\/\/(.*):(\d+)$/.exec(url) ?? [];
  const isAddress =
    scheme === undefined || host === 'localhost' || isIP(host.replace(/^\[(.*)\]$/, '$1')) > 0;
  return isAddress ? url : `${scheme}://0.0.0.0:${port}`;
}

function sorted(urls: readonly string[]): string {
  return [...urls].sort().join(' ');
}
