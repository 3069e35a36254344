/** R6, R9: a target for which a damaged object is needed: the reason, the object, and the command for what can be had. */
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import { exitCode } from '../../src/cli/exit.js';
import { readCatalog } from '../../src/pipeline/catalog.js';
import { requestFor, restoreFrom } from './request.js';
import { expectOnly, testDir } from './set-up.js';
import { copySmallSet, flipBit } from './small-set.js';

const dir = testDir('to-target-damaged');
const version = '3.4.23';
let container: string;
let last: { name: string; start: bigint; last: bigint; createdSecs: number };

beforeEach(async () => {
  ({ container } = await copySmallSet(dir.in('store')));
  const { store } = await requestFor({ container, dataDir: dir.in('data') });
  const { objects } = await readCatalog(store);
  const { name } = objects.reduce((a, b) => (a.name.last > b.name.last ? a : b));
  last = { name: name.text, start: name.start, last: name.last, createdSecs: name.createdSecs };
  await flipBit(join(container, 'v2', name.text), 300);
});

describe.each([
  ['--to-revision inside it', () => ({ toRevision: last.start + 1n })],
  ['--to-time inside it', () => ({ toTimeMs: last.createdSecs * 1000 })],
])('the newest delta is damaged, %s', (_, target) => {
  test('is refused with exit code 4, and --allow-older restores what is before it and says what is lost', async () => {
    const ask = (change: object) =>
      restoreFrom({ container, dataDir: dir.in('data'), version, ...target(), ...change });
    const error = await ask({}).catch((caught) => caught);
    expect(error).toMatchObject({
      object: last.name,
      hint: expect.stringContaining(`--exclude ${last.name} --allow-older`),
    });
    expect(exitCode(error)).toBe(4);
    await expectOnly(dir.path, 'store');
    const result = await ask({ allowOlder: true });
    expect(result.plan.revision).toBe(last.start - 1n);
    expect(result.lostUpTo).toBeGreaterThanOrEqual(last.start);
  });
});

test('a target before the damaged object needs nothing of it', async () => {
  const toRevision = last.start - 1n;
  const { plan } = await restoreFrom({ container, dataDir: dir.in('data'), version, toRevision });
  expect(plan.revision).toBe(toRevision);
});
