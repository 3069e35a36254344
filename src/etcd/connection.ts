/** How to reach an etcd: endpoints, TLS, user. Plain data; the files are read when a connection is opened. */
import { readFile } from 'node:fs/promises';
import { type ChannelCredentials, credentials } from '@grpc/grpc-js';
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
  const verify = connection.insecureSkipVerify === true ? ACCEPT_ANY_SERVER : {};
  try {
    return credentials.createSsl(cacert, key, cert, verify);
  } catch (cause) {
    throw new BackupError('USAGE', 'the TLS files do not fit together or are not PEM', {
      op: 'etcd',
      object: endpoint,
      hint: 'check --cacert, --cert and --key',
      cause,
    });
  }
}

const ACCEPT_ANY_SERVER = { rejectUnauthorized: false, checkServerIdentity: () => undefined };

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
