/** The regression gate on made-up pairs: real times would make this test as shaky as the machine. */
import { describe, expect, test } from 'vitest';
import {
  FALSE_ALARMS,
  judge,
  type Pair,
  roundsNeeded,
  signedRankChance,
} from '../../bench/compare/verdict.js';
import { Random } from '../servers/random.js';

const ROUNDS = 16;
const JUDGEMENTS = 6;
const COMPARISONS = 2_000;

/** Pairs of a machine with 10% noise, a drift, and now and then a run that takes three times as long. */
function pairs(random: Random, slowdown: number): Pair[] {
  return Array.from({ length: ROUNDS }, (_, round) => {
    const noisy = (value: number) => {
      const wild = random.int(50) === 0 ? 3 : 1;
      return value * wild * (1 + 0.05 * (round / ROUNDS)) * (0.9 + 0.2 * random.next());
    };
    return { base: noisy(1), next: noisy(slowdown) };
  });
}

function alarms(slowdown: number): number {
  const random = new Random(1);
  let found = 0;
  for (let n = 0; n < COMPARISONS; n++) if (judge(pairs(random, slowdown), JUDGEMENTS).isSlower) found += 1;
  return found / COMPARISONS;
}

test('equal builds pass, but for the false alarms that are allowed', () => {
  expect(alarms(1)).toBeLessThan(FALSE_ALARMS / JUDGEMENTS);
});

test('a build that is slower by less than the tolerance passes', () => {
  expect(alarms(1.04)).toBeLessThan(FALSE_ALARMS / JUDGEMENTS);
});

test('a planted slowdown of 35% is found, through noise and wild rounds', () => {
  expect(alarms(1.35)).toBeGreaterThan(0.9);
});

test('a faster build passes', () => {
  expect(alarms(0.7)).toBe(0);
});

test('the slowdown is the median of the pairs', () => {
  const ratios = [1.3, 1.1, 9, 1.2, 1.25];
  const { slowdown } = judge(
    ratios.map((next) => ({ base: 1, next })),
    1,
  );
  expect(slowdown).toBe(1.25);
});

describe('signed ranks, exact', () => {
  test.each([
    ['all one way', [1, 2, 3], 1 / 8],
    ['all the other way', [-1, -2, -3], 1],
    ['the smallest against', [-1, 2, 3], 2 / 8],
    ['the largest against, which counts as the middle one', [1, 2, -3], 4 / 8],
  ])('%s', (_, differences, chance) => {
    expect(signedRankChance(differences)).toBe(chance);
  });

  test('fewer rounds than are needed can never raise the alarm, so many can', () => {
    const needed = roundsNeeded(JUDGEMENTS);
    const doubled = (rounds: number) => Array.from({ length: rounds }, () => ({ base: 1, next: 2 }));
    expect(judge(doubled(needed - 1), JUDGEMENTS).isSlower).toBe(false);
    expect(judge(doubled(needed), JUDGEMENTS).isSlower).toBe(true);
  });
});
