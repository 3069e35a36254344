/** `get`: keys as they were at a revision, straight out of backups. */

import { loggingFlags } from '../config/logging.js';
import { getFlags, lookFlags, parseGetConfig } from '../config/look.js';
import { outputFlags, parseOutput } from '../config/output.js';
import { storeFlags } from '../config/store.js';
import { BackupError } from '../errors.js';
import type { Answer } from '../reader/reader.js';
import type { Command, CommandContext } from './command.js';
import { keyValueJson } from './look-json.js';
import { describeValue, printable } from './look-text.js';
import { revisionOf, withReader } from './open-reader.js';
import { Stdout } from './stdout.js';

export const getCommand: Command = {
  name: 'get',
  description:
    'Prints a key, or with --prefix all that begin so, as it was at a revision, out of the backups of a store or out of ' +
    'one file. No etcd is needed, nothing is restored, nothing is changed. Objects of Kubernetes are shown by kind, ' +
    'namespace and name; --json prints what `etcdctl get -w json` would, --value-only the bytes themselves. Exit code 3 ' +
    'when there is no such KEY at that revision.',
  operands: 'KEY',
  flags: [storeFlags, lookFlags, getFlags, outputFlags, loggingFlags],
  run: get,
};

async function get(context: CommandContext): Promise<void> {
  const { given, operands, signal } = context;
  const { key, isPrefix, valueOnly, ...moment } = parseGetConfig(given, operands);
  const { json } = parseOutput(given);
  if (json && valueOnly)
    throw new BackupError('USAGE', 'only one of the two', { object: '--json, --value-only' });
  const found = await withReader('get', context, async (reader) => {
    const at = await revisionOf(reader, moment, signal);
    const answer = await reader.state({ key, isPrefix }, at, { signal });
    const out = new Stdout();
    const print = json ? printJson : valueOnly ? valuePrinter(isPrefix) : printKeys;
    return { count: await print(answer, out), revision: answer.revision };
  });
  if (found.count > 0 || json) return;
  if (isPrefix) {
    context.log.info(`no key begins with ${printable(key)} at revision ${found.revision}`);
    return;
  }
  throw new BackupError('NOTHING_TO_RESTORE', `not found at revision ${found.revision}`, {
    op: 'get',
    object: printable(key),
  });
}

/** Returns the number of keys, as do the others. */
async function printKeys({ rows }: Answer, out: Stdout): Promise<number> {
  let count = 0;
  for await (const { key, value } of rows) {
    count += 1;
    if (!(await out.write(`${printable(key)}\n${describeValue(value)}\n`))) break;
  }
  await out.flush();
  return count;
}

/**
 * The bytes of one value as they are, so that a file made of them is the value. Several values are lines, and escaped
 * where they go to a terminal.
 */
function valuePrinter(isPrefix: boolean) {
  return async ({ rows }: Answer, out: Stdout): Promise<number> => {
    const end = isPrefix || out.isTerminal ? '\n' : '';
    let count = 0;
    for await (const { value } of rows) {
      count += 1;
      const shown = isPrefix && out.isTerminal ? printable(value, { newlines: true }) : value;
      if (!(await out.write(shown)) || !(await out.write(end))) break;
    }
    await out.flush();
    return count;
  };
}

async function printJson({ rows, revision }: Answer, out: Stdout): Promise<number> {
  let count = 0;
  await out.write(`{"header":{"revision":${revision}}`);
  for await (const row of rows) {
    count += 1;
    const before = count === 1 ? ',"kvs":[' : ',';
    if (!(await out.write(`${before}${keyValueJson(row.key, row)}`))) return count;
  }
  await out.write(count === 0 ? '}\n' : `],"count":${count}}\n`);
  await out.flush();
  return count;
}
