/** Commands as data become a commander program: options, help, errors of usage. */
import { Command as Commander, CommanderError, Option } from 'commander';
import type { ProgramName } from '../config/backup.js';
import type { Flag, FlagSet } from '../config/flag.js';
import { BackupError } from '../errors.js';
import { normalizeArguments } from './argv.js';
import type { Command } from './command.js';
import type { CommandEntry } from './commands.js';
import { EXIT_HELP } from './exit.js';

export interface Parsed {
  readonly command: Command;
  readonly given: ReadonlyMap<string, readonly string[]>;
  readonly operands: readonly string[];
}

/** `undefined`: help or version was printed and nothing is left to do. */
export async function parseCommandLine(
  program: ProgramName,
  version: string,
  commands: readonly CommandEntry[],
  args: readonly string[],
): Promise<Parsed | undefined> {
  const called = await commands.find(({ name }) => args.find((arg) => !arg.startsWith('-')) === name)?.load();
  let parsed: Parsed | undefined;
  const root = new Commander(program)
    .description('Backs an etcd up to an object store, in fulls and deltas, and restores it.')
    .version(version, '-v, --version')
    .exitOverride()
    .configureOutput({ writeErr: () => {} })
    .addHelpText('after', `\n${EXIT_HELP}`);
  for (const { name, summary } of commands) {
    const sub = root.command(name).summary(summary);
    if (called?.name !== name) continue;
    describeCommand(sub, called, (given, operands) => {
      parsed = { command: called, given, operands };
    });
  }
  try {
    root.parse(normalizeArguments(args, called?.flags ?? []), { from: 'user' });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    if (error.exitCode === 0) return undefined;
    if (error.code === 'commander.help')
      throw new BackupError('USAGE', 'a command is missing', { hint: root.helpInformation() });
    throw usageError(program, error);
  }
  return parsed;
}

function describeCommand(
  sub: Commander,
  command: Command,
  found: (given: Map<string, readonly string[]>, operands: string[]) => void,
): void {
  sub
    .description(command.description)
    .exitOverride()
    .allowExcessArguments(command.operands !== undefined)
    .addHelpText('after', `\n${EXIT_HELP}`);
  if (command.operands !== undefined) sub.usage(`[options] ${command.operands}`);
  const given = new Map<string, readonly string[]>();
  for (const flag of allFlags(command)) sub.addOption(option(flag, given));
  sub.action(() => found(given, sub.args));
}

function option(flag: Flag<unknown>, given: Map<string, readonly string[]>): Option {
  const short = flag.short === undefined ? '' : `-${flag.short}, `;
  const shown = flag.show(flag.fallback);
  const described = `${flag.help}${shown === '' || shown === 'false' ? '' : ` (default ${shown})`}`;
  const made = new Option(
    `${short}--${flag.name} ${flag.placeholder === undefined ? '[true|false]' : `<${flag.placeholder}>`}`,
    described,
  );
  if (flag.later !== undefined) made.hideHelp();
  return made.argParser((text) => {
    given.set(flag.name, [...(given.get(flag.name) ?? []), text]);
    return text;
  });
}

function allFlags(command: Command): Flag<unknown>[] {
  return command.flags.flatMap((set: FlagSet) => Object.values(set));
}

function usageError(program: ProgramName, error: CommanderError): BackupError {
  const text = error.message.replace(/^error: /, '');
  return new BackupError('USAGE', text, { hint: `${program} COMMAND --help lists what there is` });
}
