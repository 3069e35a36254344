import { expect, it } from 'vitest';
import { BackupError } from '../../../src/errors.js';
import type { Bench } from '../conformance.js';
import { codeOf, keysOf, put, readAll, same, sourceFile } from './material.js';

const PROMPT_MS = 2000;

export function describeAbort(bench: Bench): void {
  it('does nothing for a caller that has left', async () => {
    const file = await sourceFile(bench, 1000);
    await put(bench.store, 'v2/there');
    const signal = AbortSignal.abort(new Error('left before'));
    expect(await codeOf(bench.store.putFile('v2/a', file.path, { ...file.stated, signal }))).toBe(
      'CANCELLED',
    );
    expect(await codeOf(bench.store.putBytes('v2/a', file.content, { signal }))).toBe('CANCELLED');
    expect(await codeOf(bench.store.head('v2/there', { signal }))).toBe('CANCELLED');
    expect(await codeOf(readAll(bench.store, 'v2/there', { signal }))).toBe('CANCELLED');
    expect(await codeOf(keysOf(bench.store, 'v2', { signal }))).toBe('CANCELLED');
    expect(await codeOf(bench.store.delete('v2/there', { signal }))).toBe('CANCELLED');
    expect(await codeOf(bench.store.cleanUp('v2', { signal }))).toBe('CANCELLED');
    expect(await keysOf(bench.store)).toEqual(['v2/there']);
  });

  it('shows nothing of a put that was aborted in the middle, and takes it again', async () => {
    const file = await sourceFile(bench, 16 * 1024 * 1024);
    const abort = new AbortController();
    let abortedAt = 0;
    const onProgress = () => {
      abortedAt ||= performance.now();
      abort.abort(new Error('in the middle'));
    };
    const options = { ...file.stated, signal: abort.signal, onProgress };
    expect(await codeOf(bench.store.putFile('v2/half', file.path, options))).toBe('CANCELLED');
    expect(performance.now() - abortedAt).toBeLessThan(PROMPT_MS);
    expect(await codeOf(bench.store.head('v2/half'))).toBe('NOT_FOUND');
    expect(await keysOf(bench.store)).toEqual([]);
    await bench.store.putFile('v2/half', file.path, file.stated);
    expect(same(await readAll(bench.store, 'v2/half'), file.content)).toBe(true);
  });

  it('ends a body and a listing in the middle', async () => {
    const file = await sourceFile(bench, 4 * 1024 * 1024);
    await bench.store.putFile('v2/body', file.path, file.stated);
    await put(bench.store, 'v2/a', 'v2/b');
    const body = new AbortController();
    const reading = async () => {
      for await (const chunk of bench.store.get('v2/body', { signal: body.signal })) {
        expect(chunk.length).toBeGreaterThan(0);
        body.abort();
      }
    };
    expect(await codeOf(reading())).toBe('CANCELLED');
    const list = new AbortController();
    const listing = async () => {
      for await (const object of bench.store.list('v2', { signal: list.signal })) {
        expect(object.key).toBe('v2/a');
        list.abort();
      }
    };
    expect(await codeOf(listing())).toBe('CANCELLED');
  });

  it('passes on the error that the caller aborts with', async () => {
    const reason = new BackupError('TIMEOUT', 'took too long');
    const signal = AbortSignal.abort(reason);
    await expect(bench.store.head('v2/a', { signal })).rejects.toBe(reason);
    await expect(keysOf(bench.store, '', { signal })).rejects.toBe(reason);
  });
}
