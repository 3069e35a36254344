import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { sleep } from '../../src/base/abort.js';
import { startWatchdog, withTimeout } from '../../src/base/watchdog.js';

beforeEach(() => {
  vi.useFakeTimers();
});

afterEach(() => {
  vi.useRealTimers();
});

test('hazard 33: a job that makes progress for hours is not stopped, one that is silent is', async () => {
  const watchdog = startWatchdog({ ms: 30_000, reason: () => 'no progress for 30s' });
  for (let i = 0; i < 1_000; i += 1) {
    await vi.advanceTimersByTimeAsync(20_000);
    watchdog.progress();
  }
  expect(watchdog.signal.aborted).toBe(false);
  await vi.advanceTimersByTimeAsync(34_000);
  expect(watchdog.signal.reason).toBe('no progress for 30s');
  watchdog.dispose();
  expect(vi.getTimerCount()).toBe(0);
});

test('a disposed watchdog stays silent and leaves no timer', async () => {
  const watchdog = startWatchdog({ ms: 1_000, reason: () => 'late' });
  watchdog.dispose();
  await vi.advanceTimersByTimeAsync(10_000);
  expect(watchdog.signal.aborted).toBe(false);
  expect(vi.getTimerCount()).toBe(0);
});

test('a watchdog passes the abort of its parent on', () => {
  const parent = new AbortController();
  const watchdog = startWatchdog({ ms: 1_000, reason: () => 'late', signal: parent.signal });
  parent.abort('stop');
  expect(watchdog.signal.reason).toBe('stop');
  watchdog.dispose();
});

test('a job above its total limit is stopped with the given reason, and no timer is left', async () => {
  const limited = withTimeout({ ms: 500, reason: () => new Error('too long') }, (signal) =>
    sleep(10_000, { signal }),
  );
  const rejected = expect(limited).rejects.toThrow('too long');
  await vi.advanceTimersByTimeAsync(501);
  await rejected;
  await expect(withTimeout({ ms: 500, reason: () => 'x' }, async () => 3)).resolves.toBe(3);
  expect(vi.getTimerCount()).toBe(0);
});
