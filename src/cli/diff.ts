/** `diff`: keys that were added, changed or deleted between two revisions. */

import { loggingFlags } from '../config/logging.js';
import { diffFlags, lookFlags, parseDiffConfig } from '../config/look.js';
import { outputFlags, parseOutput } from '../config/output.js';
import { storeFlags } from '../config/store.js';
import { BackupError } from '../errors.js';
import type { LookRow } from '../native/index.js';
import type { Answer } from '../reader/reader.js';
import type { Command, CommandContext } from './command.js';
import { keyValueJson, object } from './look-json.js';
import { kubernetesName, printable } from './look-text.js';
import { withReader } from './open-reader.js';
import { Stdout } from './stdout.js';

export const diffCommand: Command = {
  name: 'diff',
  description:
    'Prints the keys that differ between two revisions: + added, ~ changed (written again, with the revisions of both ' +
    'values), - deleted. What was changed and changed back in between counts as changed: revisions are compared, not ' +
    'values. --json has the values before and after.',
  flags: [storeFlags, lookFlags, diffFlags, outputFlags, loggingFlags],
  run: diff,
};

interface Count {
  added: number;
  changed: number;
  deleted: number;
}

async function diff(context: CommandContext): Promise<void> {
  const { given, signal } = context;
  const { key, isPrefix, fromRevision, toRevision } = parseDiffConfig(given);
  const { json } = parseOutput(given);
  await withReader('diff', context, async (reader) => {
    const to = toRevision ?? (await reader.newestRevision({ signal }));
    if (fromRevision > to)
      throw new BackupError('USAGE', `${fromRevision} is above the newest revision, ${to}`, {
        object: '--from-revision',
      });
    const answer = await reader.difference({ key, isPrefix }, fromRevision, to, { signal });
    await (json ? printJson : printLines)(answer, fromRevision, new Stdout());
  });
}

async function printLines({ rows, revision }: Answer, from: bigint, out: Stdout): Promise<void> {
  const count: Count = { added: 0, changed: 0, deleted: 0 };
  for await (const row of rows) {
    add(count, row);
    if (!(await out.write(`${lineOf(row)}\n`))) return;
  }
  const { added, changed, deleted } = count;
  await out.write(
    `${added} added, ${changed} changed, ${deleted} deleted from revision ${from} to ${revision}\n`,
  );
  await out.flush();
}

function lineOf(row: LookRow): string {
  const key = printable(row.key);
  const name = kubernetesName(row.kind === 'deleted' ? (row.before?.value ?? row.value) : row.value);
  const said = name === '' ? '' : `  ${name}`;
  if (row.kind === 'added') return `+ ${key}${said}  revision ${row.modRevision}`;
  if (row.kind === 'deleted') return `- ${key}${said}  was of revision ${row.before?.modRevision}`;
  return `~ ${key}${said}  revision ${row.before?.modRevision} -> ${row.modRevision}`;
}

async function printJson({ rows, revision }: Answer, from: bigint, out: Stdout): Promise<void> {
  const count: Count = { added: 0, changed: 0, deleted: 0 };
  await out.write(`{"header":{"from_revision":${from},"to_revision":${revision}},"changes":[`);
  let separator = '';
  for await (const row of rows) {
    add(count, row);
    const change = object([
      ['kind', `"${row.kind}"`],
      ['before', row.before === undefined ? '' : keyValueJson(row.key, row.before)],
      ['after', row.kind === 'deleted' ? '' : keyValueJson(row.key, row)],
    ]);
    if (!(await out.write(`${separator}${change}`))) return;
    separator = ',';
  }
  const { added, changed, deleted } = count;
  await out.write(`],"added":${added},"changed":${changed},"deleted":${deleted}}\n`);
  await out.flush();
}

function add(count: Count, { kind }: LookRow): void {
  if (kind === 'added' || kind === 'changed' || kind === 'deleted') count[kind] += 1;
}
