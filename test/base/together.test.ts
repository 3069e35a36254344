import { expect, test } from 'vitest';
import { sleep } from '../../src/base/abort.js';
import { together } from '../../src/base/together.js';

test('results keep their places', async () => {
  const slow = async () => {
    await sleep(20);
    return 'slow';
  };
  expect(await together(undefined, [slow, async () => 7])).toEqual(['slow', 7]);
});

test('the first failure stops the others and comes out when they have ended', async () => {
  let ended = false;
  const waits = async (signal: AbortSignal) => {
    await sleep(60_000, { signal }).catch(() => undefined);
    await sleep(20);
    ended = true;
  };
  const fails = async () => {
    await sleep(5);
    throw new Error('first');
  };
  await expect(together(undefined, [waits, fails])).rejects.toThrow('first');
  expect(ended).toBe(true);
});

test('an abort from outside reaches every job', async () => {
  const aborter = new AbortController();
  const waits = (signal: AbortSignal) => sleep(60_000, { signal });
  const both = together(aborter.signal, [waits, waits]);
  aborter.abort(new Error('stop'));
  await expect(both).rejects.toThrow('stop');
});
