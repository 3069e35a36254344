/** A CA of our own, a server certificate for the loopback and a client certificate, made by openssl. */
import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';

export interface TlsFiles {
  readonly cacert: string;
  readonly serverCert: string;
  readonly serverKey: string;
  readonly clientCert: string;
  readonly clientKey: string;
}

export async function makeTlsFiles(dir: string): Promise<TlsFiles> {
  const ca = { cert: join(dir, 'ca.pem'), key: join(dir, 'ca.key') };
  await openssl([
    'req',
    '-x509',
    '-newkey',
    'rsa:2048',
    '-nodes',
    '-days',
    '2',
    '-subj',
    '/CN=etcdbr test CA',
    '-keyout',
    ca.key,
    '-out',
    ca.cert,
  ]);
  const server = await signed(dir, ca, 'server', 'subjectAltName=DNS:localhost,IP:127.0.0.1');
  const client = await signed(dir, ca, 'client', 'extendedKeyUsage=clientAuth');
  return {
    cacert: ca.cert,
    serverCert: server.cert,
    serverKey: server.key,
    clientCert: client.cert,
    clientKey: client.key,
  };
}

async function signed(dir: string, ca: { cert: string; key: string }, name: string, extension: string) {
  const [cert, key, request, extensions] = ['pem', 'key', 'csr', 'ext'].map((end) =>
    join(dir, `${name}.${end}`),
  );
  if (!cert || !key || !request || !extensions) throw new Error('unreachable');
  await writeFile(extensions, `${extension}\n`);
  await openssl([
    'req',
    '-newkey',
    'rsa:2048',
    '-nodes',
    '-subj',
    `/CN=${name}`,
    '-keyout',
    key,
    '-out',
    request,
  ]);
  await openssl([
    'x509',
    '-req',
    '-in',
    request,
    '-CA',
    ca.cert,
    '-CAkey',
    ca.key,
    '-CAcreateserial',
    '-days',
    '2',
    '-extfile',
    extensions,
    '-out',
    cert,
  ]);
  return { cert, key };
}

async function openssl(args: string[]): Promise<void> {
  await promisify(execFile)('openssl', args);
}
