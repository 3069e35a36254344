/** A TCP proxy that cuts, delays or swallows what an etcd sends: the broken networks of the tests. */
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';

export class FlakyProxy {
  /** Bytes from the server that were passed on, over all connections. */
  passedBytes = 0;
  connections = 0;
  /** Cuts the next connections after so many bytes from the server, one after another; then none. */
  cutAfterBytes: number[] = [];
  /** Takes bytes from neither side any more, without closing: a peer that vanished. */
  frozen = false;
  readonly #target: number;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();

  private constructor(target: number) {
    this.#target = target;
    this.#server = createServer((client) => this.#serve(client));
  }

  static async open(targetPort: number, host = '127.0.0.1'): Promise<FlakyProxy> {
    const proxy = new FlakyProxy(targetPort);
    await new Promise<void>((resolve, reject) => {
      proxy.#server.once('error', reject);
      proxy.#server.listen(0, host, resolve);
    });
    return proxy;
  }

  get endpoint(): string {
    const { address, port } = this.#server.address() as AddressInfo;
    return `http://${address}:${port}`;
  }

  /** Breaks all connections at once. */
  cut(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  async close(): Promise<void> {
    this.cut();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #serve(client: Socket): void {
    this.connections += 1;
    let left = this.cutAfterBytes.shift() ?? Number.POSITIVE_INFINITY;
    const server = connect(this.#target, '127.0.0.1');
    const both = [client, server];
    for (const socket of both) {
      this.#sockets.add(socket);
      socket.on('error', () => undefined);
      socket.on('close', () => {
        this.#sockets.delete(socket);
        for (const other of both) other.destroy();
      });
    }
    client.on('data', (bytes) => {
      if (!this.frozen) server.write(bytes);
    });
    server.on('data', (bytes) => {
      if (this.frozen) return;
      const passed = bytes.subarray(0, left);
      left -= passed.length;
      this.passedBytes += passed.length;
      const flows = client.write(passed, () => {
        if (left === 0) client.destroy();
      });
      if (!flows) server.pause();
    });
    client.on('drain', () => server.resume());
  }
}
