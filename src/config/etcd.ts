/** How to reach the etcd that is backed up. */
import { BackupError } from '../errors.js';
import { bool, duration, type Given, list, parseFlags, text } from './flag.js';

export const etcdFlags = {
  endpoints: list('endpoints', ['http://127.0.0.1:2379'], 'client URLs of the etcd members', { short: 'e' }),
  serviceEndpoints: list('service-endpoints', [], 'client URLs of ready members behind a service', {
    later: 'member control',
  }),
  username: text('etcd-username', '', 'user name, together with --etcd-password'),
  password: text('etcd-password', '', 'password, together with --etcd-username'),
  connectionTimeoutMs: duration('etcd-connection-timeout', 30_000, 'deadline of a short call to etcd', {
    min: 1,
  }),
  snapshotTimeoutMs: duration(
    'etcd-snapshot-timeout',
    0,
    'deadline of a whole full snapshot; 0 is none, only standstill ends it',
    {
      min: 0,
    },
  ),
  defragTimeoutMs: duration('etcd-defrag-timeout', 8 * 60_000, 'deadline of a defragmentation', {
    min: 1,
    later: 'defragmentation',
  }),
  insecureTransport: bool('insecure-transport', true, 'allow http:// endpoints'),
  insecureSkipVerify: bool('insecure-skip-tls-verify', false, "do not verify the server's certificate"),
  cert: text('cert', '', 'client certificate (PEM file)'),
  key: text('key', '', "client certificate's key (PEM file)"),
  cacert: text('cacert', '', 'CA that the server is verified against (PEM file)'),
} as const;

/** Structurally what `src/etcd` dials. */
export interface EtcdConfig {
  readonly endpoints: readonly string[];
  readonly username?: string;
  readonly password?: string;
  readonly cert?: string;
  readonly key?: string;
  readonly cacert?: string;
  readonly insecureSkipVerify: boolean;
  readonly connectionTimeoutMs: number;
  /** 0 for none. */
  readonly snapshotTimeoutMs: number;
}

export function parseEtcdConfig(given: Given): EtcdConfig {
  const values = parseFlags(etcdFlags, given);
  checkTogether(values.username, '--etcd-username', values.password, '--etcd-password');
  checkTogether(values.cert, '--cert', values.key, '--key');
  for (const endpoint of values.endpoints) checkEndpoint(endpoint, values.insecureTransport);
  if (values.endpoints.length === 0) throw new BackupError('USAGE', 'is empty', { object: '--endpoints' });
  return Object.freeze({
    endpoints: values.endpoints,
    ...present({ username: values.username, password: values.password }),
    ...present({ cert: values.cert, key: values.key, cacert: values.cacert }),
    insecureSkipVerify: values.insecureSkipVerify,
    connectionTimeoutMs: values.connectionTimeoutMs,
    snapshotTimeoutMs: values.snapshotTimeoutMs,
  });
}

function checkTogether(a: string, aName: string, b: string, bName: string): void {
  if ((a === '') === (b === '')) return;
  throw new BackupError('USAGE', `is given without ${a === '' ? aName : bName}`, {
    object: a === '' ? bName : aName,
  });
}

function checkEndpoint(endpoint: string, insecureAllowed: boolean): void {
  if (!/^(https?|unixs?):\/\/\S+$|^[^\s/]+:\d+$/.test(endpoint)) {
    throw new BackupError(
      'USAGE',
      `${JSON.stringify(endpoint)}: expected http://host:port or https://host:port`,
      {
        object: '--endpoints',
      },
    );
  }
  if (!insecureAllowed && endpoint.startsWith('http://')) {
    throw new BackupError('USAGE', `${endpoint} is not encrypted, and --insecure-transport is false`, {
      object: '--endpoints',
    });
  }
}

function present<T extends Record<string, string>>(values: T): Partial<T> {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== '')) as Partial<T>;
}
