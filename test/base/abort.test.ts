import { getEventListeners } from 'node:events';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { deriveAbort, MAX_TIMER_MS, onAbort, raceAbort, sleep } from '../../src/base/abort.js';

const DAY_MS = 86_400_000;

afterEach(() => {
  vi.useRealTimers();
});

describe('abortable waits', () => {
  test('a sleep of 60 days lasts 60 days, though one timer of that length would fire at once', async () => {
    vi.useFakeTimers();
    let done = false;
    const sleeping = sleep(60 * DAY_MS).then(() => {
      done = true;
    });
    await vi.advanceTimersByTimeAsync(MAX_TIMER_MS + 1_000);
    await vi.advanceTimersByTimeAsync(59 * DAY_MS - MAX_TIMER_MS);
    expect(done).toBe(false);
    await vi.advanceTimersByTimeAsync(DAY_MS);
    await sleeping;
    expect(done).toBe(true);
  });

  test('an aborted sleep rejects with the reason it was given and leaves no listener', async () => {
    const controller = new AbortController();
    const reason = new Error('stop');
    const sleeping = sleep(10_000, { signal: controller.signal });
    controller.abort(reason);
    await expect(sleeping).rejects.toBe(reason);
    expect(getEventListeners(controller.signal, 'abort')).toHaveLength(0);
    await expect(sleep(1, { signal: controller.signal })).rejects.toBe(reason);
  });

  test('a finished sleep leaves no listener on a long-lived signal', async () => {
    const controller = new AbortController();
    await sleep(1, { signal: controller.signal });
    expect(getEventListeners(controller.signal, 'abort')).toHaveLength(0);
  });

  test('a race is lost to the abort, and a late failure of the loser is not an unhandled rejection', async () => {
    const controller = new AbortController();
    let fail = (_: Error): void => undefined;
    const slow = new Promise<number>((_, reject) => {
      fail = reject;
    });
    const racing = raceAbort(slow, controller.signal);
    controller.abort('enough');
    await expect(racing).rejects.toBe('enough');
    fail(new Error('late'));
    await expect(raceAbort(Promise.resolve(7), new AbortController().signal)).resolves.toBe(7);
    await expect(raceAbort(Promise.resolve(7))).resolves.toBe(7);
  });

  test('a derived signal follows its parent, not the other way round, until it is disposed', () => {
    const parent = new AbortController();
    const child = deriveAbort(parent.signal);
    child.abort('own');
    expect(parent.signal.aborted).toBe(false);
    const other = deriveAbort(parent.signal);
    const loose = deriveAbort(parent.signal);
    loose.dispose();
    child.dispose();
    parent.abort('all');
    expect(other.signal.reason).toBe('all');
    expect(loose.signal.aborted).toBe(false);
    expect(deriveAbort(parent.signal).signal.reason).toBe('all');
  });

  test('a listener on an aborted signal is called at once', () => {
    const heard: unknown[] = [];
    onAbort(AbortSignal.abort('gone'), (reason) => heard.push(reason));
    onAbort(undefined, (reason) => heard.push(reason));
    expect(heard).toEqual(['gone']);
  });
});
