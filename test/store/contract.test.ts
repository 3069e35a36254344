/** The suite over every store and every decorator that there is. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { LimitedStore } from '../../src/store/limit.js';
import { LocalStore } from '../../src/store/local/local-store.js';
import { MemoryStore } from '../../src/store/memory.js';
import { MeteredStore } from '../../src/store/metered.js';
import { decorate } from '../../src/store/open-store.js';
import { RetryingStore } from '../../src/store/retry.js';
import { StallGuardedStore } from '../../src/store/stall.js';
import type { Store } from '../../src/store/store.js';
import { describeStore } from './conformance.js';
import { FaultyStore } from './faulty.js';

const FAST = { tries: 30, backoff: { firstMs: 0, factor: 1, maxMs: 0, jitter: 0 } };
const sink = { operation: () => undefined };

describeStore('memory', async () => ({ store: new MemoryStore() }));
describeStore('memory, limited to two at a time', async () => ({
  store: new LimitedStore(new MemoryStore(), { operations: 2 }),
}));
describeStore('memory, metered', async () => ({ store: new MeteredStore(new MemoryStore(), sink) }));
describeStore('memory, guarded against stalls', async () => ({
  store: new StallGuardedStore(new MemoryStore()),
}));
describeStore('memory, repeated without failures', async () => ({
  store: new RetryingStore(new MemoryStore()),
}));
describeStore('memory, which fails often, repeated', async () => ({
  store: new RetryingStore(new FaultyStore(new MemoryStore(), OFTEN, { seed: 7 }), FAST),
}));

describeStore(
  'Local',
  local((root) => new LocalStore({ root })),
);
describeStore(
  'Local, listed through small windows',
  local((root) => new LocalStore({ root, windowNames: 100 })),
);
describeStore(
  'Local, on a file system without links',
  local((root) => new LocalStore({ root, makeLink: noLinks })),
);
describeStore(
  'Local, as it is opened',
  local((root) => decorate(new LocalStore({ root }), { sink, operations: 2 })),
);
describeStore(
  'Local, as it is opened, failing often',
  local((root) =>
    decorate(new FaultyStore(new LocalStore({ root }), OFTEN, { seed: 8 }), { sink, retry: FAST }),
  ),
);

const OFTEN = [
  { on: 'any', probability: 0.1, fault: { kind: 'error', code: 'UNAVAILABLE' } },
  { on: 'any', probability: 0.1, fault: { kind: 'error', code: 'TIMEOUT', atByte: 3 } },
  { on: 'get', probability: 0.2, fault: { kind: 'error', code: 'UNAVAILABLE', atByte: 400_000 } },
  { on: 'get', probability: 0.1, fault: { kind: 'small', chunkBytes: 100_003 } },
  { on: 'put', probability: 0.1, fault: { kind: 'lostReply', code: 'TIMEOUT' } },
  { on: 'delete', probability: 0.2, fault: { kind: 'lostReply', code: 'UNAVAILABLE' } },
] as const;

function local(open: (root: string) => Store) {
  return async (dir: string) => {
    const root = `${dir}/backups`;
    const fill = async (keys: readonly string[]) => {
      for (const key of keys) {
        mkdirSync(dirname(`${root}/${key}`), { recursive: true });
        writeFileSync(`${root}/${key}`, key);
      }
    };
    return { store: open(root), fill };
  };
}

async function noLinks(): Promise<void> {
  throw Object.assign(new Error('operation not supported'), { code: 'EOPNOTSUPP' });
}
