import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    testTimeout: 60_000,
    hookTimeout: 60_000,
    // Two cores, and many tests start real etcds: more at a time only makes them wait for each other.
    maxWorkers: 2,
    // Real processes on a machine that others use: a deadline that passed once is tried again, and is shown as such.
    retry: process.env.CI === undefined ? 0 : 1,
  },
});
