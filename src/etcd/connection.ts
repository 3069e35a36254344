/** How to reach an etcd: endpoints, TLS, user. Plain data; the files are read when a connection is opened. */
import { readFile } from 'node:fs/promises';
import { isIP } from 'node:net';
import { checkServerIdentity } from 'node:tls';
import { type ChannelCredentials, credentials, type VerifyOptions } from '@grpc/grpc-js';
import { BackupError } from '../errors.js';

export interface EtcdConnection {
  /** `http://host:port`, `https://host:port`, `unix:///dir/socket`, or `host:port`. */
  readonly endpoints: readonly string[];
  readonly username?: string | undefined;
  readonly password?: string | undefined;
  /** Paths of PEM files: client certificate, its key, and the CA that the server is checked against. */
  readonly cert?: string | undefined;
  readonly key?: string | undefined;
  readonly cacert?: string | undefined;
  readonly insecureSkipVerify?: boolean | undefined;
  /** Deadline of a short call, and of the first answer on a stream. */
  readonly connectionTimeoutMs: number;
}

/** The name that gRPC dials: a socket keeps its scheme, everything else loses it. */
export function grpcTarget(endpoint: string): string {
  if (endpoint.startsWith('unix://')) return endpoint;
  if (endpoint.startsWith('unixs://')) return endpoint.replace('unixs://', 'unix://');
  return endpoint.replace(/^https?:\/\//, '').replace(/\/+$/, '');
}

/** As in etcd's own client: the scheme decides; an endpoint without one uses TLS when any TLS file is given. */
export function usesTls(connection: EtcdConnection, endpoint: string): boolean {
  if (/^(https|unixs):\/\//.test(endpoint)) return true;
  if (/^(http|unix):\/\//.test(endpoint)) return false;
  return [connection.cert, connection.key, connection.cacert].some((path) => path !== undefined);
}

export async function channelCredentials(
  connection: EtcdConnection,
  endpoint: string,
): Promise<ChannelCredentials> {
  if (!usesTls(connection, endpoint)) return credentials.createInsecure();
  if ((connection.cert === undefined) !== (connection.key === undefined)) {
    throw new BackupError('USAGE', 'a client certificate and its key must be given together', {
      op: 'etcd',
      object: endpoint,
      hint: 'give both --cert and --key, or neither',
    });
  }
  const [cacert, key, cert] = await Promise.all([
    readPem('--cacert', connection.cacert),
    readPem('--key', connection.key),
    readPem('--cert', connection.cert),
  ]);
  try {
    return credentials.createSsl(cacert, key, cert, verification(connection, endpoint));
  } catch (cause) {
    throw new BackupError('USAGE', 'the TLS files do not fit together or are not PEM', {
      op: 'etcd',
      object: endpoint,
      hint: 'check --cacert, --cert and --key',
      cause,
    });
  }
}

/**
 * Channel options that go with the credentials. gRPC would send an IP address as the TLS server name, which is not
 * allowed and which Node warns of; a name goes in its place, and the certificate is still checked for the address.
 */
export function tlsOptions(connection: EtcdConnection, endpoint: string): Record<string, string> {
  const byAddress = usesTls(connection, endpoint) && isIP(hostOf(endpoint)) !== 0;
  return byAddress ? { 'grpc.ssl_target_name_override': 'etcd' } : {};
}

function verification(connection: EtcdConnection, endpoint: string): VerifyOptions {
  if (connection.insecureSkipVerify === true) {
    return { rejectUnauthorized: false, checkServerIdentity: () => undefined };
  }
  const host = hostOf(endpoint);
  return isIP(host) === 0 ? {} : { checkServerIdentity: (_name, cert) => checkServerIdentity(host, cert) };
}

function hostOf(endpoint: string): string {
  return grpcTarget(endpoint)
    .replace(/:\d+$/, '')
    .replace(/^\[(.*)\]$/, '$1');
}

async function readPem(flag: string, path: string | undefined): Promise<Buffer | null> {
  if (path === undefined) return null;
  try {
    return await readFile(path);
  } catch (cause) {
    throw new BackupError('USAGE', `cannot be read (${(cause as NodeJS.ErrnoException).code})`, {
      op: 'etcd',
      object: path,
      hint: `check the path given with ${flag}`,
      cause,
    });
  }
}
