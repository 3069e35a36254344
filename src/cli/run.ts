/** Runs one command from its arguments to its exit code. */
import { setMaxListeners } from 'node:events';
import { basename } from 'node:path';
import type { ProgramName } from '../config/backup.js';
import { laterWarnings } from '../config/flag.js';
import { parseLogLevel } from '../config/logging.js';
import { BackupError } from '../errors.js';
import { commands } from './commands.js';
import { EXIT, exitCode } from './exit.js';
import { createLogger } from './log.js';
import { createOutput } from './output.js';
import { type Parsed, parseCommandLine } from './program.js';
import { createProgress } from './progress.js';

export interface Invocation {
  /** As in process.argv[1]: its last element is the name that the program goes by. */
  readonly path: string;
  readonly args: readonly string[];
  readonly version: string;
}

/** Never throws: what went wrong is on stderr. A second signal is for the caller. */
export async function run(invocation: Invocation): Promise<number> {
  const program: ProgramName = basename(invocation.path).startsWith('etcdbrctl') ? 'etcdbrctl' : 'etcdbr';
  const aborter = new AbortController();
  // One listener for each operation that runs, and no leak.
  setMaxListeners(0, aborter.signal);
  let received: NodeJS.Signals | undefined;
  const onSignal = (signal: NodeJS.Signals) => {
    received = signal;
    aborter.abort(signal);
  };
  process.once('SIGINT', onSignal).once('SIGTERM', onSignal);
  try {
    const parsed = await parseCommandLine(program, invocation.version, commands, invocation.args);
    if (parsed !== undefined) await runCommand(program, parsed, aborter.signal);
    return EXIT.done;
  } catch (error) {
    explain(program, error);
    return exitCode(error, received);
  }
}

async function runCommand(
  program: ProgramName,
  { command, given, operands }: Parsed,
  signal: AbortSignal,
): Promise<void> {
  const log = await createLogger(parseLogLevel(given));
  for (const warning of command.flags.flatMap((flags) => laterWarnings(flags, given))) log.warn(warning);
  const out = createOutput((text) => process.stdout.write(text));
  const progress = await createProgress(log);
  try {
    await command.run({ program, given, operands, signal, log, out, progress });
  } finally {
    progress.end();
  }
}

/** Reason and advice for people; a stack only for what nobody expected. */
function explain(program: ProgramName, error: unknown): void {
  if (!(error instanceof BackupError)) {
    const text = error instanceof Error ? error.stack : String(error);
    process.stderr.write(`${program}: unexpected failure, please report it: ${text}\n`);
    return;
  }
  process.stderr.write(`${program}: ${error.message}\n`);
  if (error.hint !== undefined) process.stderr.write(`${error.hint}\n`);
}
