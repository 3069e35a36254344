import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { parseOptions, SIZES } from '../../bench/options.js';
import { chooseWorkloads } from '../../bench/workloads/workloads.js';

test('without arguments: everything at SMALL', () => {
  const options = parseOptions([]);
  expect(options).toMatchObject({ size: SIZES.SMALL, only: [], rounds: SIZES.SMALL?.rounds, redraw: false });
  expect(options.outDir).toBe(fileURLToPath(new URL('../../bench/report', import.meta.url)));
  expect(chooseWorkloads(options.only).length).toBeGreaterThan(5);
});

test('a part of a run does not take the place of the committed report', () => {
  expect(parseOptions(['--only', 'check']).outDir).toMatch(/etcdbr\/bench\/report$/);
  expect(parseOptions(['--only', 'check', '--out', '/o']).outDir).toBe('/o');
});

test('what is given is taken', () => {
  const args = [
    '--only',
    'check,restore',
    '--only',
    'full',
    '--size',
    'full',
    '--rounds',
    '7',
    '--minutes',
    '25',
  ];
  const options = parseOptions([
    ...args,
    '--peer',
    '/p',
    '--etcdutl',
    '/u',
    '--out',
    '/o',
    '--redraw',
    '--prepare',
  ]);
  expect(options).toEqual({
    size: SIZES.FULL,
    only: ['check', 'restore', 'full'],
    rounds: 7,
    minutes: 25,
    peer: '/p',
    etcdutl: '/u',
    outDir: '/o',
    redraw: true,
    prepare: true,
  });
});

test.each([
  ['536870912', 512],
  ['512MiB', 512],
  ['1.5GiB', 1536],
])('the size %s is a base of %d MiB, the rest in proportion', (text, mib) => {
  const { size } = parseOptions(['--size', text]);
  expect(size).toMatchObject({ name: `${mib} MiB`, baseMib: mib, checkMib: mib, compactMib: mib });
  expect(size.events).toBe(Math.round(((SIZES.MEDIUM?.events ?? 0) * mib) / 1024));
  expect(Math.max(...size.seriesMib)).toBe(mib);
});

test('FULL has the sizes that the bars are set for', () => {
  const { FULL } = SIZES;
  const series = FULL?.seriesMib.map((mib) => mib * FULL.eventsPerMib);
  expect([FULL?.baseMib, FULL?.events]).toEqual([Math.floor(3e9 / 1024 ** 2), 500_000]);
  expect(series?.slice(-2)).toEqual([1_250_000, 5_000_000]);
});

test.each([
  [['--size', 'HUGE'], /--size HUGE: give TINY, SMALL/],
  [['--size', '12'], /at least 1 MiB/],
  [['--rounds', '0'], /--rounds 0/],
  [['--rounds', '1.5'], /--rounds 1\.5/],
  [['--minutes', 'x'], /--minutes x/],
  [['--nothing'], /--nothing/],
  [['check'], /check/],
])('%j is refused with what is wrong', (args, message) => {
  expect(() => parseOptions(args)).toThrow(RangeError);
  expect(() => parseOptions(args)).toThrow(message);
});

test('a workload that nobody has is refused with those that there are', () => {
  expect(() => chooseWorkloads(['restore', 'sail'])).toThrow(/--only sail: there are .*restore/);
});
