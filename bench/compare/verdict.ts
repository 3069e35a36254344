/**
 * Whether one build is slower than another, from pairs of runs. Pure.
 *
 * Each round gives one pair, each of the two in terms of floor work done beside it, so that a machine that is slow for
 * a while is slow on both sides of the fraction. A signed-rank test, exact and one-sided, then says how likely pairs
 * like these are for a build that is no more than `TOLERANCE` slower. It is Wilcoxon's with ranks cut off at the middle
 * one: a wild round, which has the highest rank, then weighs no more than half of the others.
 */
import { median } from '../statistics.js';

/** Both as multiples of the floor. */
export interface Pair {
  readonly base: number;
  readonly next: number;
}

export interface Verdict {
  /** Median of next to base: 1.2 is a fifth slower. */
  readonly slowdown: number;
  /** Chance of such pairs when it is no slower than tolerated. */
  readonly chance: number;
  readonly isSlower: boolean;
}

/** Slower by less than this is not looked for. */
export const TOLERANCE = 0.05;
/** How often a comparison of equal builds may fail, all its judgements together. */
export const FALSE_ALARMS = 0.01;

/** `judgements`: how many are made in one comparison; each gets its share of the false alarms. */
export function judge(pairs: readonly Pair[], judgements: number): Verdict {
  const ratios = pairs.map(({ base, next }) => next / base);
  const chance = signedRankChance(ratios.map((ratio) => Math.log(ratio / (1 + TOLERANCE))));
  return { slowdown: median(ratios), chance, isSlower: chance <= FALSE_ALARMS / judgements };
}

/** Rounds that a verdict needs: with fewer, not even pairs that all point one way are rare enough. */
export function roundsNeeded(judgements: number): number {
  return Math.ceil(Math.log2(judgements / FALSE_ALARMS));
}

/** Chance of a rank sum at least as high as that of the positive differences, if each sign were a coin's. */
export function signedRankChance(differences: readonly number[]): number {
  const highest = Math.ceil(differences.length / 2);
  const ranked = [...differences]
    .sort((a, b) => Math.abs(a) - Math.abs(b))
    .map((difference, at) => ({ rank: Math.min(at + 1, highest), isPositive: difference > 0 }));
  const observed = ranked.reduce((sum, { rank, isPositive }) => sum + (isPositive ? rank : 0), 0);
  // ways[s]: of the sign patterns of the ranks so far, how many have the sum s.
  let ways = [1];
  for (const { rank } of ranked) {
    const next = new Array<number>(ways.length + rank).fill(0);
    for (const [sum, count] of ways.entries()) {
      next[sum] = (next[sum] ?? 0) + count;
      next[sum + rank] = (next[sum + rank] ?? 0) + count;
    }
    ways = next;
  }
  return ways.slice(observed).reduce((total, count) => total + count, 0) / 2 ** ranked.length;
}
