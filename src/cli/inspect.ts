/** `inspect`: what one file or object says about itself, without judging it. */
import { existsSync } from 'node:fs';
import { loggingFlags } from '../config/logging.js';
import { outputFlags, parseOutput } from '../config/output.js';
import { storeFlags } from '../config/store.js';
import { BackupError } from '../errors.js';
import { inspectFile } from '../validator/inspect-file.js';
import { inspectObject } from '../validator/inspect-object.js';
import type { Command, CommandContext } from './command.js';
import { openConfiguredStore } from './store-access.js';

export const inspectCommand: Command = {
  name: 'inspect',
  description:
    'Shows revisions, buckets, members, leases, alarms of a database, or revisions, times and leases of a delta. Takes a ' +
    'file (a snapshot, a delta, a database of a stopped etcd) or the name of an object in the store. Changes nothing.',
  operands: 'FILE|NAME',
  flags: [storeFlags, outputFlags, loggingFlags],
  run: inspect,
};

async function inspect(context: CommandContext): Promise<void> {
  const [target, ...more] = context.operands;
  if (target === undefined || more.length > 0) {
    throw new BackupError('USAGE', 'takes one file or one name', { object: 'inspect' });
  }
  const facts = existsSync(target)
    ? await inspectFile(target, { signal: context.signal })
    : await inspectStored(context, target);
  if (parseOutput(context.given).json) context.out.json(facts);
  else
    for (const [name, value] of Object.entries(facts)) context.out.text(`${name.padEnd(26)}${show(value)}`);
}

async function inspectStored(context: CommandContext, name: string): Promise<object> {
  const { store, config } = await openConfiguredStore(context);
  return inspectObject(store, name, config.tempDir, { signal: context.signal });
}

function show(value: unknown): string {
  if (value === null || value === undefined) return '-';
  if (value instanceof Uint8Array) return JSON.stringify(Buffer.from(value).toString('latin1'));
  if (Array.isArray(value)) return value.length === 0 ? '-' : value.map(show).join(', ');
  if (typeof value === 'object') {
    return Object.entries(value)
      .map(([key, inner]) => `${key}=${show(inner)}`)
      .join(' ');
  }
  return String(value);
}
