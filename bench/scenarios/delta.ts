/** Reading deltas through on one core: our container and the Go tool's JSON, 300-byte values. */
import { join } from 'node:path';
import { Bench } from 'tinybench';
import { DeltaWriter, exportDelta, Replay, verifyDelta } from '../../src/native/index.js';
import { removeTempDir, tempDir } from '../../test/servers/process.js';
import { Random } from '../../test/servers/random.js';

const EVENTS_PER_RESPONSE = 100;
const VALUE_BYTES = 300;

export async function delta(events: number): Promise<string> {
  const dir = tempDir('bench-delta');
  try {
    const ebd = join(dir, 'x.ebd');
    const json = join(dir, 'x.json');
    await write(ebd, events);
    await exportDelta('x', { source: ebd, target: json, compression: 'none' });
    await exportDelta('x', { source: ebd, target: `${json}.gz`, compression: 'gzip' });
    const bench = new Bench({ iterations: 5, time: 0, warmupIterations: 1, warmupTime: 0 });
    bench.add('.ebd (zstd), verify', async () => void (await verifyDelta('x', ebd)));
    bench.add('.ebd (zstd), decode to transactions', () => replay(ebd));
    bench.add('json, verify', async () => void (await verifyDelta('x', json)));
    bench.add('json.gz, verify', async () => void (await verifyDelta('x', `${json}.gz`)));
    await bench.run();
    const rows = bench.tasks.map(({ name, result }) => {
      const ms = 'latency' in result ? result.latency.p50 : Number.NaN;
      return `| ${name} | ${ms.toFixed(1)} ms | ${Math.round((events / ms / 1000) * 1000)} thousand events/s |`;
    });
    return ['| what | median | rate |', '|---|---|---|', ...rows].join('\n');
  } finally {
    await removeTempDir(dir);
  }
}

async function replay(path: string): Promise<void> {
  const reader = new Replay(1n);
  reader.open('x', path);
  while ((await reader.next()) !== null);
}

async function write(path: string, events: number): Promise<void> {
  const header = {
    clusterId: 1n,
    memberId: 1n,
    serverVersion: '3.5.35',
    predecessorName: '',
    predecessorSha256: null,
    startRevision: 2n,
    createdMs: 1_700_000_000_000,
    timeline: null,
  };
  const writer = DeltaWriter.create(path, header, 'zstd');
  const random = new Random(7);
  for (let at = 0; at < events; at += EVENTS_PER_RESPONSE) {
    const pieces: Buffer[] = [];
    for (let n = at; n < at + EVENTS_PER_RESPONSE; n++) {
      const value = Buffer.from(random.bytes(VALUE_BYTES / 2).toString('hex'));
      pieces.push(
        field(
          11,
          field(
            2,
            Buffer.concat([
              field(1, Buffer.from(`/registry/pods/bench/pod-${n % 10_000}`)),
              varintField(2, n + 2),
              varintField(3, n + 2),
              varintField(4, 1),
              field(5, value),
            ]),
          ),
        ),
      );
    }
    writer.pushResponse(Buffer.concat(pieces), 1_700_000_000_000 + at);
  }
  await writer.finish([]);
}

function field(number: number, value: Buffer): Buffer {
  return Buffer.concat([varint(number * 8 + 2), varint(value.length), value]);
}

function varintField(number: number, value: number): Buffer {
  return Buffer.concat([varint(number * 8), varint(value)]);
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
