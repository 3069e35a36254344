/** Transactions that other tools cannot replay, with default settings (hazards 15, 16). */
import { describe, expect, test } from 'vitest';
import { RawChannel } from '../../src/etcd/channel.js';
import type { Recorder } from '../restorer/recorder.js';
import { APPLIERS, restoreFrom } from '../restorer/request.js';
import { expectRestored, recorded, testDir } from '../restorer/set-up.js';
import { readTruth } from '../servers/truth.js';

const dir = testDir('sizes');
const VERSION = '3.6.16';
const WIDE = [
  '--max-request-bytes',
  '120000000',
  '--max-txn-ops',
  '20000',
  '--quota-backend-bytes',
  '8000000000',
];

/** Over a channel of our own: etcd3's client has a send limit. */
async function putTogether(
  source: Recorder,
  prefix: string,
  keys: number,
  valueBytes: number,
): Promise<void> {
  const puts = Array.from({ length: keys }, (_, at) =>
    field(
      2,
      field(
        2,
        Buffer.concat([field(1, Buffer.from(`${prefix}${at}`)), field(2, Buffer.alloc(valueBytes, at))]),
      ),
    ),
  );
  const channel = await RawChannel.open(source.etcd.connection(), source.etcd.endpoint, {
    windowBytes: 1 << 20,
  });
  await channel.unary('/etcdserverpb.KV/Txn', Buffer.concat(puts), { timeoutMs: 60_000 });
  channel.close();
}

function field(number: number, content: Buffer): Buffer {
  const head = [(number << 3) | 2];
  let left = content.length;
  for (; left > 127; left >>>= 7) head.push((left & 127) | 128);
  return Buffer.concat([Buffer.from([...head, left]), content]);
}

describe.each(APPLIERS)('%s applier', (applier) => {
  test.each(['ebd', 'json'] as const)(
    'two values of 1.5 MB, 10,000 operations and 50 MB in one transaction each (%s)',
    async (format) => {
      const source = await recorded(VERSION, dir.in('work'), { flags: WIDE });
      const store = dir.in('store');
      const start = await source.put('/a/', 3);
      await source.full(store);
      await putTogether(source, '/two/', 2, 1_500_000);
      await putTogether(source, '/many/', 10_000, 30);
      await putTogether(source, '/large/', 50, 1_000_000);
      await source.put('/b/', 3);
      await source.store(store, await source.delta(start + 1n, format));
      const truth = await readTruth(source.endpoint);
      const result = await restoreFrom({
        applier,
        container: store,
        dataDir: dir.in('data'),
        version: VERSION,
      });
      expect(result.plan.revision).toBe(start + 6n);
      expect(result.proof.records).toBe(2 + 10_000 + 50 + 3);
      await expectRestored(VERSION, dir.in('data'), truth);
    },
    120_000,
  );
});
