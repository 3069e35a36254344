/** The report from results that were made up. */
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { markdown } from '../../bench/paper/markdown.js';
import { writePaper } from '../../bench/paper/paper.js';
import type { Results, Section } from '../../bench/results.js';
import { removeTempDir, tempDir } from '../servers/process.js';

const section: Section = {
  workload: 'restore',
  title: 'Restore of base & deltas',
  about: 'From a store to a data directory.',
  input: 'base of 16 MiB (seed 1)',
  contestants: [
    {
      name: 'etcdbr',
      role: 'ours',
      runs: [
        { wallMs: 2000, cpuMs: 1500, peakRssBytes: 100 * 1024 ** 2 },
        { wallMs: 3000, cpuMs: 1700, peakRssBytes: 104 * 1024 ** 2 },
      ],
    },
    { name: 'copy + fsync', role: 'floor', runs: [{ wallMs: 50, cpuMs: 10, peakRssBytes: 1024 ** 2 }] },
  ],
  skipped: [{ name: 'the Go tool', reason: 'no --peer PATH was given' }],
  bars: [
    { text: 'restore to its floor', unit: 'times', atMost: 1.5, values: [40, 60] },
    { text: 'peak memory', unit: 'bytes', atMost: 200e6, values: [104_857_600] },
  ],
};
const series: Section = {
  ...section,
  title: 'Growing',
  contestants: [1, 2].map((gib) => ({
    name: `etcdbr, ${gib} GiB`,
    role: 'ours',
    inputBytes: gib * 1024 ** 3,
    runs: [{ wallMs: gib * 1000, peakRssBytes: 1e8 }],
  })),
  skipped: [],
  bars: [],
};
const results: Results = {
  version: 1,
  startedAt: '2026-12-01T05:30:00.000Z',
  tookMs: 60_000,
  command: 'npm run bench -- --size TINY',
  size: 'TINY',
  machine: {
    cpu: 'A CPU',
    cores: 2,
    memoryBytes: 24 * 1024 ** 3,
    kernel: 'Linux 6.18',
    diskBytesPerSecond: 500 * 1024 ** 2,
    fsyncMs: 1.25,
    loadAverage: 0.1,
    versions: { node: 'v20.20.2' },
  },
  sections: [section, series],
  skipped: [{ name: 'full', reason: 'Error: etcd ended', failed: true }],
};

const dirs: string[] = [];
afterEach(async () => {
  for (const dir of dirs.splice(0)) await removeTempDir(dir);
});

describe('Markdown', () => {
  const text = markdown(results);

  test('has medians with their spread beside the floor', () => {
    expect(text).toContain('| **etcdbr** | 2.50 s (2.00-3.00) | 1.60 s | 102 MiB |  | 2 |');
    expect(text).toContain('| *copy + fsync* | 50.00 ms | 0.01 s | 1.00 MiB | 0.020x | 1 |');
  });

  test('says which bar is reached and which is not', () => {
    expect(text).toContain(
      '| restore to its floor | at most 1.50x | 50.0x (40.0x-60.0x) | **not reached** |',
    );
    expect(text).toContain('| peak memory | at most 200 MB | 105 MB | reached |');
    expect(text).toContain('The bars are set for the size FULL; this is TINY.');
  });

  test('hides nothing that was not run or that failed', () => {
    expect(text).toContain('Not run: the Go tool: no --peer PATH was given.');
    expect(text).toContain('**FAILED: full**');
    expect(text).toContain('Error: etcd ended');
  });

  test('names the machine', () => {
    expect(text).toContain('2 x A CPU, 24.0 GiB, Linux 6.18; disk: 500 MiB/s written and synced');
  });
});

test('the files: Markdown, HTML with the plots inside, a plot for each section', async () => {
  const dir = tempDir('bench-paper');
  dirs.push(dir);
  await writePaper({ ...results, sections: [{ ...section, title: 'Gone since' }] }, dir);
  await writePaper(results, dir);
  expect((await readdir(dir)).sort()).toEqual(['plots', 'report.html', 'report.md']);
  expect((await readdir(join(dir, 'plots'))).sort()).toEqual(['growing.svg', 'restore-of-base-deltas.svg']);
  const html = await readFile(join(dir, 'report.html'), 'utf8');
  expect(html.match(/<svg/g)?.length).toBe(2);
  expect(html).toContain('<h2>Restore of base &amp; deltas</h2>');
  expect(html).toContain('<td><strong>etcdbr</strong></td>');
  expect(await readFile(join(dir, 'plots', 'growing.svg'), 'utf8')).toContain('peak RSS, MiB');
});
