/** Logs on stderr: pretty on a terminal, JSON lines otherwise. */
import { type Logger, pino, stdTimeFunctions } from 'pino';
import type { LogLevel } from '../config/logging.js';

export type { Logger } from 'pino';

/** What makes them pretty costs about 10 MiB: it is loaded on a terminal only. */
export async function createLogger(level: LogLevel): Promise<Logger> {
  const options = { level, base: null, timestamp: stdTimeFunctions.isoTime } as const;
  if (!process.stderr.isTTY) return pino(options, pino.destination({ dest: 2, sync: true }));
  const { default: pretty } = await import('pino-pretty');
  return pino(options, pretty({ destination: 2, sync: true, ignore: 'time', singleLine: true }));
}
