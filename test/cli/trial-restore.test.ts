/** Trial restores: a real etcd of each version serves what the set says, is asked, and leaves nothing behind. */
import { execFileSync } from 'node:child_process';
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import type { CommandContext } from '../../src/cli/command.js';
import { type TrialReport, trialLine, trialRestore } from '../../src/cli/trial-restore.js';
import { openStore } from '../../src/store/open-store.js';
import { fixture } from '../restorer/request.js';
import { testDir } from '../restorer/set-up.js';
import { copySmallSet, flipBit } from '../restorer/small-set.js';
import { sourceTruth } from '../restorer/source-truth.js';
import { ETCD_VERSIONS, type EtcdVersion, etcdBinary, releaseOf } from '../servers/binaries.js';

const dir = testDir('trial');

async function trial(container: string, version: EtcdVersion, signal = new AbortController().signal) {
  const temp = dir.in('temp');
  const config = { provider: 'Local', container, prefix: '', homeDir: dir.path, tempDir: temp };
  const silent = () => undefined;
  const context = {
    ...{ program: 'etcdbr', given: new Map(), operands: [], signal },
    ...{ log: { info: silent, warn: silent }, progress: { update: silent, end: silent } },
  } as unknown as CommandContext;
  try {
    const opened = { store: await openStore(config), config };
    return await trialRestore(context, opened, { etcdBinary: etcdBinary(version) });
  } finally {
    expect(await readdir(temp)).toEqual([]);
    expect(execFileSync('ps', ['-eo', 'args'], { encoding: 'utf8' })).not.toContain(temp);
  }
}

function expectProven(report: TrialReport, version: EtcdVersion): void {
  expect(report).toMatchObject({ etcdVersion: version, hashNotCompared: undefined });
  expect(report.members).toMatchObject([{ name: 'default', isLearner: false }]);
}

describe.each([
  'gardener-plain-etcd3.4',
  'gardener-compacted-etcd3.5',
  'gardener-zlib-etcd3.6',
  'gardener-lzw-etcd3.7',
])('%s', (name) => {
  test('its etcd serves what its source held', async () => {
    const truth = await sourceTruth(name);
    const version = releaseOf(name.slice(-3));
    const report = await trial(fixture(`${name}/store`), version);
    expectProven(report, version);
    expect(report).toMatchObject({
      restoredRevision: truth.revision,
      keys: truth.keys.size,
      takesWrites: true,
    });
    if (report.hashKv.compactRevision === truth.compactRevision) expect(report.hashKv.hash).toBe(truth.hash);
    expect(trialLine(report)).toContain(`an etcd ${version} serves revision ${truth.revision}`);
  });
});

describe.each(ETCD_VERSIONS)('users, passwords and an alarm, etcd %s', (version) => {
  test('hazard 39, 40: are no reason not to ask', async () => {
    const packed = await readFile(fixture(`etcd-${version.slice(0, 3)}/snapshot-auth-alarm.db.gz`));
    const full = join('store', 'v2', 'Full-00000000-00000001-1700000000');
    await mkdir(dir.in('store/v2'), { recursive: true });
    await writeFile(dir.in(full), gunzipSync(packed));
    const report = await trial(dir.in('store'), version);
    expectProven(report, version);
    expect(report).toMatchObject({ authSwitchedOff: true });
  });
});

test('a set that is damaged fails as its restore does', async () => {
  const { container, names } = await copySmallSet(dir.in('store'));
  await flipBit(join(container, 'v2', names[2] as string), 2_000);
  await expect(trial(container, '3.4.23')).rejects.toMatchObject({
    message: expect.stringContaining(names[2] as string),
  });
});

test('an etcd that is too old for what was restored is no damage', async () => {
  const full = 'Full-00000000-00000001-1700000000';
  await mkdir(dir.in('store/v2'), { recursive: true });
  // An etcd 3.6 refuses a database that a 3.7 has marked as its own.
  const packed = await readFile(fixture('etcd-3.7/snapshot.db.gz'));
  await writeFile(dir.in(join('store', 'v2', full)), gunzipSync(packed));
  await expect(trial(dir.in('store'), '3.6.16')).rejects.toMatchObject({
    code: 'UNSUPPORTED',
    hint: expect.stringContaining('etcd 3.7 or newer'),
  });
});

test('an interrupted trial leaves nothing behind', async () => {
  const aborter = new AbortController();
  setTimeout(() => aborter.abort('SIGINT'), 400);
  await expect(trial(fixture('gardener-gzip-etcd3.5/store'), '3.5.35', aborter.signal)).rejects.toThrow();
});
