/** What a command is. One file per command; `program.ts` turns it into options and help. */
import type { ProgramName } from '../config/backup.js';
import type { FlagSet, Given } from '../config/flag.js';
import type { Logger } from './log.js';
import type { Output } from './output.js';
import type { Progress } from './progress.js';

export interface Command {
  readonly name: string;
  /** What stands above the flags in the command's own help. */
  readonly description: string;
  /** As in a usage line: "[NAME...]"; undefined for none. */
  readonly operands?: string;
  readonly flags: readonly FlagSet[];
  run(context: CommandContext): Promise<void>;
}

export interface CommandContext {
  readonly program: ProgramName;
  readonly given: Given;
  readonly operands: readonly string[];
  /** Aborted by SIGINT and SIGTERM; its reason is the signal's name. */
  readonly signal: AbortSignal;
  readonly log: Logger;
  readonly out: Output;
  readonly progress: Progress;
}
