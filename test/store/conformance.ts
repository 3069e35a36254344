/**
 * What `src/store/store.ts` promises, as tests: one suite for every provider and every decorator, unchanged.
 * A provider's own test is a few lines: `describeStore('S3', makeS3)`.
 */
import { afterEach, beforeEach, describe } from 'vitest';
import type { Store } from '../../src/store/store.js';
import { removeTempDir, tempDir } from '../servers/process.js';
import { describeAbort } from './conformance/abort.js';
import { describeKeys } from './conformance/keys.js';
import { describeList } from './conformance/list.js';
import { describePut } from './conformance/put.js';
import { describeRead } from './conformance/read.js';

export interface StoreUnderTest {
  /** Empty at the beginning of each test. */
  readonly store: Store;
  /** Puts many small objects by a shorter way than one put each, where there is one. */
  readonly fill?: (keys: readonly string[]) => Promise<void>;
  readonly close?: () => Promise<void>;
}

/** What the parts of the suite get: the store of the running test, and a directory for files to be put. */
export interface Bench {
  store: Store;
  dir: string;
  fill: (keys: readonly string[]) => Promise<void>;
}

export function describeStore(name: string, make: (dir: string) => Promise<StoreUnderTest>): void {
  describe(`store contract: ${name}`, () => {
    const bench = {} as Bench;
    let made: StoreUnderTest | undefined;

    beforeEach(async () => {
      bench.dir = tempDir('store');
      made = await make(bench.dir);
      const { store } = made;
      bench.store = store;
      bench.fill = made.fill ?? ((keys) => putAll(store, keys));
    });
    afterEach(async () => {
      await made?.close?.();
      await removeTempDir(bench.dir);
    });

    describePut(bench);
    describeRead(bench);
    describeList(bench);
    describeKeys(bench);
    describeAbort(bench);
  });
}

const PUTS_AT_ONCE = 64;

async function putAll(store: Store, keys: readonly string[]): Promise<void> {
  for (let at = 0; at < keys.length; at += PUTS_AT_ONCE) {
    const part = keys.slice(at, at + PUTS_AT_ONCE);
    await Promise.all(part.map((key) => store.putBytes(key, Buffer.from(key))));
  }
}
