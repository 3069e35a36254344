import { expect, test } from 'vitest';
import { measure } from '../../bench/measure.js';

const BUSY_MS = 300;
const HELD_BYTES = 200e6;
/** Holds memory and a CPU for a while. */
const GREEDY = `const held = Buffer.alloc(${HELD_BYTES}, 1);
  const busy = () => process.cpuUsage().user / 1000;
  const from = busy(); while (busy() < from + ${BUSY_MS}); console.log(held.length)`;

test('CPU time and memory of a child of the child are counted', async () => {
  const { cpuMs, peakRssBytes, stdout, wallMs } = await measure({
    command: 'sh',
    args: ['-c', '"$0" -e "$1"; true', process.execPath, GREEDY],
  });
  expect(stdout.trim()).toBe(`${HELD_BYTES}`);
  expect(cpuMs).toBeGreaterThanOrEqual(BUSY_MS);
  expect(peakRssBytes).toBeGreaterThan(HELD_BYTES);
  expect(wallMs).toBeGreaterThan(0);
});

test('a process that fails is an error with its last words', async () => {
  const job = { command: 'sh', args: ['-c', 'echo the disk is full >&2; exit 3'] };
  await expect(measure(job)).rejects.toThrow(/ended with 3:\nthe disk is full/);
});

test('a program that is not there is an error', async () => {
  await expect(measure({ command: '/nowhere/etcd', args: [] })).rejects.toThrow(/ENOENT/);
});
