import { expect, test } from 'vitest';
import { formatBytes, formatRate } from '../../src/base/bytes.js';

test.each([
  [0, '0 B'],
  [1023, '1023 B'],
  [1024, '1.00 KiB'],
  [1_572_864, '1.50 MiB'],
  [10_737_418, '10.2 MiB'],
  [1_048_575, '1.00 MiB'],
  [3 * 2 ** 30, '3.00 GiB'],
  [512 * 2 ** 20, '512 MiB'],
  [-2048, '-2.00 KiB'],
])('%d bytes are written as %s', (bytes, text) => {
  expect(formatBytes(bytes)).toBe(text);
});

test('a rate before any time has passed is not infinite', () => {
  expect(formatRate(5, 0)).toBe('- B/s');
  expect(formatRate(2 ** 20, 500)).toBe('2.00 MiB/s');
});
