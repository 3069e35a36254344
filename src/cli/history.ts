/** `history`: every change of a key that the backups hold. */

import { loggingFlags } from '../config/logging.js';
import { historyFlags, lookFlags, parseHistoryConfig } from '../config/look.js';
import { outputFlags, parseOutput } from '../config/output.js';
import { storeFlags } from '../config/store.js';
import { BackupError } from '../errors.js';
import type { LookRow } from '../native/index.js';
import type { Answer } from '../reader/reader.js';
import type { Command, CommandContext } from './command.js';
import { base64, number, object } from './look-json.js';
import { printable } from './look-text.js';
import { revisionOf, withReader } from './open-reader.js';
import { Stdout } from './stdout.js';

export const historyCommand: Command = {
  name: 'history',
  description:
    'Prints every change of a key that the backups of a store hold, oldest first: revision, put or delete, version, ' +
    'lease, when it happened (known of changes in deltas), and the object that it comes from. Goes back through all ' +
    'deltas to the oldest full that they continue. --json has the values, too. Exit code 3 when there is none.',
  operands: 'KEY',
  flags: [storeFlags, lookFlags, historyFlags, outputFlags, loggingFlags],
  run: history,
};

async function history(context: CommandContext): Promise<void> {
  const { given, operands, signal, log } = context;
  const { key, isPrefix, ...moment } = parseHistoryConfig(given, operands);
  const { json } = parseOutput(given);
  const found = await withReader('history', context, async (reader) => {
    const to = await revisionOf(reader, moment, signal);
    const answer = await reader.history({ key, isPrefix }, { to, withValues: json, signal });
    const { compacted } = answer;
    if (compacted > 0n)
      log.info(`changes up to revision ${compacted} may be missing: they were compacted away`);
    const count = await (json ? printJson : printTable)(answer, new Stdout(), isPrefix);
    return { count, revision: answer.revision };
  });
  if (found.count > 0 || json || isPrefix) return;
  throw new BackupError(
    'NOTHING_TO_RESTORE',
    `no backup up to revision ${found.revision} holds a change of it`,
    {
      op: 'history',
      object: printable(key),
    },
  );
}

async function printTable(answer: Answer, out: Stdout, withKeys: boolean): Promise<number> {
  let count = 0;
  let before: Buffer | undefined;
  const head = line('REVISION', 'KIND', 'VERSION', 'LEASE', 'TIME', 'OBJECT');
  for await (const row of answer.rows) {
    count += 1;
    const isNext = before === undefined || !before.equals(row.key);
    before = row.key;
    const title = isNext ? `${withKeys ? `${printable(row.key)}\n` : ''}${head}` : '';
    const { kind, modRevision, version, lease } = row;
    const numbers = [version === 0n ? '' : String(version), lease === 0n ? '' : lease.toString(16)] as const;
    const text = line(String(modRevision), kind, ...numbers, timeOf(row), answer.nameOf(row));
    if (!(await out.write(`${title}${text}`))) break;
  }
  await out.flush();
  return count;
}

async function printJson(answer: Answer, out: Stdout): Promise<number> {
  let count = 0;
  await out.write(`{"header":{"revision":${answer.revision}},"changes":[`);
  for await (const row of answer.rows) {
    count += 1;
    const change = object([
      ['key', base64(row.key)],
      ['kind', `"${row.kind}"`],
      ['mod_revision', number(row.modRevision)],
      ['sub_revision', String(row.sub)],
      ['create_revision', number(row.createRevision)],
      ['version', number(row.version)],
      ['value', base64(row.value)],
      ['lease', number(row.lease)],
      ['time', row.timeMs === undefined ? '' : `"${timeOf(row)}"`],
      ['object', JSON.stringify(answer.nameOf(row))],
    ]);
    if (!(await out.write(`${count === 1 ? '' : ','}${change}`))) return count;
  }
  await out.write(`],"count":${count}}\n`);
  await out.flush();
  return count;
}

function line(...[revision, kind, version, lease, time, name]: readonly string[]): string {
  const cells = [
    revision?.padStart(12),
    kind?.padEnd(6),
    version?.padStart(8),
    lease?.padStart(16),
    time?.padEnd(24),
  ];
  return `${[...cells, name].join('  ')}\n`;
}

function timeOf({ timeMs }: LookRow): string {
  return timeMs === undefined ? '' : new Date(timeMs).toISOString();
}
