/** Logs on stderr: pretty on a terminal, JSON lines otherwise. */
import { type Logger, pino, stdTimeFunctions } from 'pino';
import pretty from 'pino-pretty';
import type { LogLevel } from '../config/logging.js';

export type { Logger } from 'pino';

export function createLogger(level: LogLevel): Logger {
  const options = { level, base: null, timestamp: stdTimeFunctions.isoTime } as const;
  if (!process.stderr.isTTY) return pino(options, pino.destination({ dest: 2, sync: true }));
  return pino(options, pretty({ destination: 2, sync: true, ignore: 'time', singleLine: true }));
}
