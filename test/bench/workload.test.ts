/** Entries, rounds and bars with engines that do next to nothing. */
import { describe, expect, test } from 'vitest';
import type { Engine } from '../../bench/engines/engine.js';
import type { Contestant, Run } from '../../bench/results.js';
import { growthBars } from '../../bench/workloads/series.js';
import { type Entry, entry, memoryBar, race, ratioBar } from '../../bench/workloads/workload.js';

const ENDLESS = Number.POSITIVE_INFINITY;
const said: Engine = {
  name: 'echo',
  role: 'peer',
  job: (task) => (task.verb === 'read' ? { command: 'echo', args: [task.file] } : undefined),
};

function counted(name: string, order: string[], maxRounds?: number): Entry {
  const run = async () => {
    order.push(name);
    return { wallMs: order.length };
  };
  return { name, role: 'ours', run, ...(maxRounds === undefined ? {} : { maxRounds }) };
}

function contestant(name: string, runs: readonly Run[], inputBytes?: number): Contestant {
  return { name, role: 'ours', runs, ...(inputBytes === undefined ? {} : { inputBytes }) };
}

describe('rounds', () => {
  test('are interleaved; slow contestants run in the first ones only', async () => {
    const order: string[] = [];
    const entries = [counted('a', order), counted('slow', order, 1), counted('b', order)];
    const { contestants } = await race({ rounds: 3, deadlineMs: ENDLESS }, entries);
    expect(order).toEqual(['a', 'slow', 'b', 'a', 'b', 'a', 'b']);
    expect(contestants.map(({ name, runs }) => [name, runs.length])).toEqual([
      ['a', 3],
      ['slow', 1],
      ['b', 3],
    ]);
  });

  test('end after the deadline, but the first is always run', async () => {
    const order: string[] = [];
    await race({ rounds: 3, deadlineMs: 0 }, [counted('a', order), counted('b', order)]);
    expect(order).toEqual(['a', 'b']);
  });

  test('a contestant that fails is told of, gives no figure, and stops nobody else', async () => {
    const order: string[] = [];
    const broken: Entry = { name: 'broken', role: 'ours', run: () => Promise.reject(new Error('no data')) };
    const { contestants, skipped } = await race({ rounds: 2, deadlineMs: ENDLESS }, [
      broken,
      counted('a', order),
    ]);
    expect(contestants.map(({ name }) => name)).toEqual(['a']);
    expect(skipped).toEqual([{ name: 'broken', reason: 'no data', failed: true }]);
  });

  test('what cannot be run is kept with its reason', async () => {
    const reason = 'this build has no command "get"';
    const { skipped } = await race({ rounds: 1, deadlineMs: ENDLESS }, [{ name: 'get', reason }]);
    expect(skipped).toEqual([{ name: 'get', reason }]);
  });
});

describe('an entry', () => {
  test('prepares, runs and looks at what came out', async () => {
    const steps: string[] = [];
    const made = entry(
      said,
      { verb: 'read', file: 'x' },
      {
        before: async () => void steps.push('before'),
        after: async (stdout) => void steps.push(`after ${stdout.trim()}`),
      },
    );
    if (!('run' in made)) throw new Error(made.reason);
    expect(Object.keys(await made.run())).toEqual(['wallMs', 'cpuMs', 'peakRssBytes']);
    expect(steps).toEqual(['before', 'after x']);
  });

  test('of a task that the engine never does is a mistake of the workload', () => {
    expect(() => entry(said, { verb: 'digest', file: 'x' })).toThrow('echo never does "digest"');
  });

  test('of a task that the engine cannot do now is its reason', () => {
    const refusing: Engine = { ...said, job: () => 'no --peer PATH was given' };
    expect(entry(refusing, { verb: 'read', file: 'x' })).toEqual({
      name: 'echo',
      reason: 'no --peer PATH was given',
    });
  });
});

describe('bars', () => {
  const runs = (...wallMs: number[]) => wallMs.map((ms) => ({ wallMs: ms, peakRssBytes: ms * 1e6 }));
  const all = [
    contestant('ours', runs(6, 12)),
    contestant('copy', runs(2, 4)),
    contestant('sha', runs(1, 2)),
  ];

  test('a ratio is to the sum of the floors, round by round', () => {
    const [bar] = ratioBar('x', all, { ours: 'ours', theirs: ['copy', 'sha'], atMost: 1.5 });
    expect(bar).toEqual({ text: 'x', unit: 'times', values: [2, 2], atMost: 1.5 });
  });

  test('there is none without the other', () => {
    expect(ratioBar('x', all, { ours: 'ours', theirs: ['the Go tool'], atMost: 1 })).toEqual([]);
    expect(memoryBar('x', all, 'nobody', 1)).toEqual([]);
  });

  test('memory is compared as it is', () => {
    expect(memoryBar('x', all, 'copy', 3e6)[0]).toMatchObject({
      unit: 'bytes',
      values: [2e6, 4e6],
      atMost: 3e6,
    });
  });

  test('of a series: memory stays, time grows as the bytes do', () => {
    const bars = growthBars([
      contestant('s', runs(100), 1024),
      contestant('m', runs(104), 4096),
      contestant('l', runs(416), 16384),
    ]);
    expect(bars.map(({ values }) => values)).toEqual([[416e6], [316e6], [1]]);
  });
});
