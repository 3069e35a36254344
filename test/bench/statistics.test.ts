import { expect, test } from 'vitest';
import { median, ratios, spread } from '../../bench/statistics.js';

test.each([
  [[3], 3],
  [[4, 1], 2.5],
  [[9, 1, 2], 2],
  [[1, 10, 2, 3], 2.5],
])('the median of %j is %d', (values, expected) => {
  expect(median(values)).toBe(expected);
});

test('there is no median of nothing', () => {
  expect(() => median([])).toThrow(RangeError);
});

test('the spread keeps least and most', () => {
  expect(spread([2, 9, 4])).toEqual({ median: 4, min: 2, max: 9 });
});

test('ratios are taken round by round, so a slow round cancels out', () => {
  expect(ratios([2, 20, 2], [1, 10, 1])).toEqual([2, 2, 2]);
});

test('where a slow peer ran once, its run stands for every round', () => {
  expect(ratios([2, 4], [8])).toEqual([0.25, 0.5]);
});
