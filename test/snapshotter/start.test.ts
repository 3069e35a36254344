import { expect, test } from 'vitest';
import { decideStart, type StartSituation } from '../../src/snapshotter/start.js';

const NOW_MS = 1_700_000_000_000;
const HOUR_SECS = 3_600;

const recent: StartSituation = {
  nowMs: NOW_MS,
  full: { createdSecs: NOW_MS / 1000 - HOUR_SECS, final: false },
  tipRevision: 1_000n,
  missing: undefined,
  history: { history: 'same', why: 'as stored' },
  etcdRevision: 1_500n,
  maxCatchUpRevisions: 50_000,
  maxFullAgeMs: 24 * HOUR_SECS * 1000,
  deltasOff: false,
  unreadableForGoTool: false,
};

const aged = (secs: number) => ({ createdSecs: NOW_MS / 1000 - secs, final: false });

test.each<[what: string, change: Partial<StartSituation>, start: 'continue' | 'full', reason: RegExp]>([
  ['a recent full, the same history, near', {}, 'continue', /ends at revision 1000, etcd is 500 ahead/],
  ['nothing was written since', { etcdRevision: 1_000n }, 'continue', /etcd is 0 ahead/],
  ['just at the distance', { etcdRevision: 51_000n }, 'continue', /50000 ahead/],
  ['one beyond the distance (hazard 43)', { etcdRevision: 51_001n }, 'full', /50001 revisions ahead.*50000/],
  ['200,000 behind', { etcdRevision: 201_000n }, 'full', /200000 revisions ahead/],
  ['an empty store', { full: undefined, tipRevision: 0n }, 'full', /holds no full/],
  ['a final full', { full: { ...aged(60), final: true } }, 'full', /final/],
  ['a full of 24 h', { full: aged(24 * HOUR_SECS) }, 'continue', /ahead/],
  ['a full of more than 24 h: one was missed', { full: aged(25 * HOUR_SECS) }, 'full', /25h0m0s old/],
  ['a hole in the chain', { missing: 700n }, 'full', /revisions from 700 on are in no object/],
  ['another history', { history: { history: 'different', why: 'replaced' } }, 'full', /^replaced$/],
  ['compacted beyond the end', { history: { history: 'unknown', why: 'compacted' } }, 'full', /^compacted$/],
  ['deltas off', { deltasOff: true }, 'full', /deltas are off/],
  ['our formats under --compat gardener', { unreadableForGoTool: true }, 'full', /Go tool cannot restore/],
])('%s: %s', (_what, change, start, reason) => {
  expect(decideStart({ ...recent, ...change })).toEqual({ start, reason: expect.stringMatching(reason) });
});
