/** How much is logged. */
import { choice, type Given, parseFlags } from './flag.js';

export const LOG_LEVELS = ['error', 'warn', 'info', 'debug', 'trace'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

export const loggingFlags = {
  /** The Go tool counts: 2 error, 3 warning, 4 info, 5 debug, 6 trace. */
  level: choice(
    'log-level',
    [...LOG_LEVELS, '2', '3', '4', '5', '6'],
    'info',
    'least severe level that is logged',
  ),
} as const;

export function parseLogLevel(given: Given): LogLevel {
  const { level } = parseFlags(loggingFlags, given);
  const counted = LOG_LEVELS[Number(level) - 2];
  return counted ?? (level as LogLevel);
}
