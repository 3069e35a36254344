/** Puts at full speed over one raw connection, for benchmarks and the demo: many in flight, nothing decoded. */
import { RawChannel } from '../../src/etcd/channel.js';
import type { EtcdConnection } from '../../src/etcd/connection.js';
import { Random } from './random.js';

export interface BlastOptions {
  readonly seed: number;
  readonly keys: number;
  readonly valueBytes: number;
  readonly inFlight: number;
  /** Ends after so many puts, or at the signal, whichever comes first. */
  readonly puts: number;
  readonly signal?: AbortSignal;
}

export interface BlastResult {
  readonly puts: number;
  readonly elapsedMs: number;
  readonly putsPerSecond: number;
}

const PUT_TIMEOUT_MS = 30_000;

export async function blast(connection: EtcdConnection, options: BlastOptions): Promise<BlastResult> {
  const endpoint = connection.endpoints[0] as string;
  const channel = await RawChannel.open(connection, endpoint, { windowBytes: 1024 * 1024 });
  const random = new Random(options.seed);
  const value = random.bytes(options.valueBytes);
  const startedMs = performance.now();
  let begun = 0;
  let puts = 0;
  const worker = async () => {
    while (begun < options.puts && options.signal?.aborted !== true) {
      begun += 1;
      const key = Buffer.from(`/blast/${String(random.int(options.keys)).padStart(9, '0')}`);
      await channel.unary('/etcdserverpb.KV/Put', putRequest(key, value), { timeoutMs: PUT_TIMEOUT_MS });
      puts += 1;
    }
  };
  await Promise.all(Array.from({ length: options.inFlight }, worker));
  channel.close();
  const elapsedMs = performance.now() - startedMs;
  return { puts, elapsedMs, putsPerSecond: Math.round((puts * 1000) / elapsedMs) };
}

/** PutRequest: 1 key, 2 value. */
function putRequest(key: Buffer, value: Buffer): Buffer {
  return Buffer.concat([
    Buffer.from([0x0a]),
    varint(key.length),
    key,
    Buffer.from([0x12]),
    varint(value.length),
    value,
  ]);
}

function varint(value: number): Buffer {
  const bytes: number[] = [];
  let rest = value;
  while (rest > 127) {
    bytes.push((rest % 128) + 128);
    rest = Math.floor(rest / 128);
  }
  return Buffer.from([...bytes, rest]);
}
