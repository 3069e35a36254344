/** What an agent has backed up, restored and read at times between its writes. */
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { storeReader } from '../reader/readers.js';
import { removeTempDir, tempDir } from '../servers/process.js';
import { readTruth, type Truth } from '../servers/truth.js';
import { cleanUp, setUp } from '../snapshotter/set-up.js';
import { restoreFrom } from './request.js';
import { expectRestored } from './set-up.js';

const VERSION = '3.6.16';

test('to a time: between groups of writes that are a second apart, whatever the deltas', async () => {
  const { endpoint, place, start } = await setUp(VERSION);
  const restoreDir = tempDir('to-time');
  cleanUp(() => removeTempDir(restoreDir));
  const beforeMs = Date.now() - 5_000;
  const backup = await start({ flags: { 'delta-snapshot-period': '1500ms' } });
  await backup.saw('full-stored');
  // The full is stamped with the second in which it was opened.
  await sleep(1_100);
  const moments: { timeMs: number; truth: Truth }[] = [];
  for (let group = 0; group < 6; group++) {
    for (let at = 0; at < 5; at++) {
      await endpoint.kv.put({ key: Buffer.from(`/group/${at}`), value: Buffer.from(`${group}`) });
    }
    await sleep(500);
    moments.push({ timeMs: Date.now(), truth: await readTruth(endpoint) });
    await sleep(500);
  }
  await backup.stop();
  const reader = await storeReader(place.container);
  cleanUp(() => reader.close());
  for (const [index, { timeMs, truth }] of moments.entries()) {
    const dataDir = `${restoreDir}/${index}`;
    const { plan, moment } = await restoreFrom({
      ...{ container: place.container, dataDir, version: VERSION, applier: 'native', toTimeMs: timeMs },
    });
    expect([plan.revision, moment?.unknown]).toEqual([truth.revision, undefined]);
    expect(await reader.revisionAt(timeMs, {})).toBe(truth.revision);
    await expectRestored(VERSION, dataDir, truth);
  }
  const behind = { container: place.container, dataDir: `${restoreDir}/end`, version: VERSION } as const;
  const { plan, moment } = await restoreFrom({ ...behind, toTimeMs: Date.now() + 60_000 });
  expect([plan.revision, moment?.next]).toEqual([moments.at(-1)?.truth.revision, undefined]);
  const tooEarly = { code: 'NOTHING_TO_RESTORE', hint: expect.stringMatching(/the earliest is revision 1,/) };
  await expect(restoreFrom({ ...behind, toTimeMs: beforeMs })).rejects.toMatchObject(tooEarly);
  await expect(reader.revisionAt(beforeMs, {})).rejects.toMatchObject(tooEarly);
});
