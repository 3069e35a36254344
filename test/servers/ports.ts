/** Free TCP ports on the loopback. Another process may take one before it is used: callers try again with new ones. */
import { createServer } from 'node:net';

export async function freePorts(count: number): Promise<number[]> {
  const servers = await Promise.all(Array.from({ length: count }, () => listen()));
  const ports = servers.map((server) => (server.address() as { port: number }).port);
  await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))));
  return ports;
}

/** Below the range that the system gives to anybody: for ports that are written down long before they are used. */
const KEPT_FROM = 12_000;
const KEPT_COUNT = 20_000;

/** As `freePorts`, from where nobody is likely to take them meanwhile. */
export async function keptPorts(count: number): Promise<number[]> {
  const ports = new Set<number>();
  while (ports.size < count) {
    const port = KEPT_FROM + Math.floor(Math.random() * KEPT_COUNT);
    const server = await listen(port).catch(() => undefined);
    if (server === undefined) continue;
    ports.add(port);
    await new Promise((resolve) => server.close(resolve));
  }
  return [...ports];
}

async function listen(port = 0) {
  const server = createServer();
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, '127.0.0.1', resolve);
  });
  return server;
}
