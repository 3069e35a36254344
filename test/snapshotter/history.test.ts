import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { BackupError } from '../../src/errors.js';
import { EtcdClient } from '../../src/etcd/client.js';
import type { StoredKey } from '../../src/etcd/endpoint.js';
import { inspectDb } from '../../src/native/index.js';
import { compareEnd, compareHistory, recordOfDb, sha256Of } from '../../src/snapshotter/history.js';
import { ETCD_VERSIONS } from '../servers/binaries.js';
import { cleanUp, setUp } from './set-up.js';

const KEY = Buffer.from('key');
const stored: StoredKey = {
  key: KEY,
  value: Buffer.from('value'),
  createRevision: 5n,
  modRevision: 300n,
  version: 200n,
  lease: 7_587_862_094_519_312n,
};
const put = {
  keyBase64: KEY.toString('base64'),
  modRevision: 300n,
  tombstone: false,
  sha256: sha256Of(stored),
};
const deletion = { ...put, tombstone: true };

/** From sibling nested transactions etcd takes one key twice. */
const putAndDelete = {
  compare: [],
  success: [
    { request_put: { key: KEY, value: Buffer.from('short') } },
    { request_delete_range: { key: KEY } },
  ].map((step) => ({ request_txn: { compare: [], success: [step], failure: [] } })),
  failure: [],
};

type Answers = Readonly<Record<string, StoredKey | null | BackupError>>;

function etcdThatAnswers(answers: Answers, deletedAt?: bigint) {
  return {
    wasDeletedAt: async (_key: Uint8Array, revision: bigint) => revision === deletedAt,
    getAt: async (_key: Uint8Array, revision: bigint) => {
      const answer = answers[String(revision)];
      if (answer instanceof BackupError) throw answer;
      return answer ?? null;
    },
  };
}

const compacted = new BackupError('COMPACTED', 'compacted');
const future = new BackupError('NOT_FOUND', 'future revision');

type History = 'same' | 'different' | 'unknown';
test.each<[what: string, record: typeof put, answers: Answers, history: History, deletedAt?: bigint]>([
  ['the same put', put, { 300: stored }, 'same'],
  ['another value', put, { 300: { ...stored, value: Buffer.from('other') } }, 'different'],
  ['another lease', put, { 300: { ...stored, lease: 1n } }, 'different'],
  ['an older put of the key', put, { 300: { ...stored, modRevision: 299n } }, 'different'],
  ['no such key', put, {}, 'different'],
  ['compacted', put, { 300: compacted }, 'unknown'],
  ['an etcd that is behind', put, { 300: future }, 'different'],
  ['a deletion', deletion, { 299: stored }, 'same'],
  ['a deleted key that is there', deletion, { 299: stored, 300: stored }, 'different'],
  ['put and deleted in one revision', deletion, {}, 'same', 300n],
  ['a key that was never there', deletion, {}, 'unknown'],
  ['a deletion of which the revision before is compacted', deletion, { 299: compacted }, 'same', 300n],
  ['a deletion that is compacted', deletion, { 300: compacted }, 'unknown', 300n],
  ['a deletion that is still to come', deletion, { 300: future }, 'different'],
])('%s: %s', async (_what, record, answers, history, deletedAt) => {
  expect(await compareHistory(record, etcdThatAnswers(answers, deletedAt))).toMatchObject({ history });
});

test('nothing known is unknown, an empty etcd is how every history begins, and silence is no verdict', async () => {
  const etcd = etcdThatAnswers({ 300: new BackupError('UNAVAILABLE', 'away') });
  expect(await compareEnd(undefined, etcd)).toMatchObject({ history: 'unknown' });
  expect(await compareEnd({ revision: 9n, record: undefined }, etcd)).toMatchObject({ history: 'unknown' });
  expect(await compareEnd({ revision: 1n, record: undefined }, etcd)).toMatchObject({ history: 'same' });
  await expect(compareHistory(put, etcd)).rejects.toMatchObject({ code: 'UNAVAILABLE' });
});

describe.each(ETCD_VERSIONS)('etcd %s', (version) => {
  test('its stored record and its answer have one digest: put, empty value, lease, deletion, both at once', async () => {
    const { etcd, endpoint, place } = await setUp(version);
    const client = await EtcdClient.open({ endpoints: [etcd.endpoint], connectionTimeoutMs: 5_000 });
    cleanUp(() => client.close());
    const { ID: lease } = await endpoint.lease.leaseGrant({ TTL: 1_000 });
    const steps = [
      () => endpoint.kv.put({ key: KEY, value: Buffer.from('a') }),
      () => endpoint.kv.put({ key: KEY, value: Buffer.alloc(0), lease }),
      () => endpoint.kv.put({ key: Buffer.from([0, 255, 10]), value: Buffer.alloc(70_000, 1), lease }),
      () => endpoint.kv.deleteRange({ key: KEY }),
      () => endpoint.kv.txn(putAndDelete),
      () => endpoint.kv.txn(putAndDelete),
    ];
    for (const [at, step] of steps.entries()) {
      await step();
      const path = join(place.dir, `${at}.db`);
      await etcd.ctl('snapshot', 'save', path);
      const { lastRecord } = await inspectDb(path);
      if (lastRecord === null) throw new Error('no last record');
      expect(await compareHistory(recordOfDb(lastRecord), client)).toMatchObject({ history: 'same' });
    }
    const nowhere = { ...deletion, keyBase64: Buffer.from('nowhere').toString('base64'), modRevision: 3n };
    expect(await compareHistory(nowhere, client)).toMatchObject({ history: 'unknown' });
  });
});
