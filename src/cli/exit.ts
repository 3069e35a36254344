/** Exit codes, in one table; `--help` prints it. */
import { BackupError, type ErrorCode } from '../errors.js';

export const EXIT = {
  done: 0,
  failed: 1,
  usage: 2,
  nothing: 3,
  damaged: 4,
  interrupted: 130,
  terminated: 143,
} as const;

export const EXIT_HELP = `Exit codes:
  0    done (also: stopped by SIGTERM and everything is stored)
  1    failed
  2    wrong usage or configuration
  3    nothing to restore, or no such key
  4    a backup is damaged, incomplete or forked
  130  cut short by SIGINT
  143  cut short by SIGTERM`;

const DAMAGED: readonly ErrorCode[] = [
  'CORRUPT',
  'TRUNCATED',
  'CHECKSUM',
  'NOT_SORTED',
  'REVISION_GAP',
  'FORK',
  'MISMATCH',
];

/** `signal` is the one that cut the job short, if any. */
export function exitCode(error: unknown, signal?: NodeJS.Signals): number {
  if (!(error instanceof BackupError)) return EXIT.failed;
  if (error.code === 'CANCELLED' && signal !== undefined) {
    return signal === 'SIGINT' ? EXIT.interrupted : EXIT.terminated;
  }
  if (error.code === 'USAGE') return EXIT.usage;
  if (error.code === 'NOTHING_TO_RESTORE') return EXIT.nothing;
  return DAMAGED.includes(error.code) ? EXIT.damaged : EXIT.failed;
}
