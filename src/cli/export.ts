/** `export`: every key at a revision, one line each, for scripts. */

import { loggingFlags } from '../config/logging.js';
import { exportFlags, lookFlags, parseExportConfig } from '../config/look.js';
import { storeFlags } from '../config/store.js';
import type { Command, CommandContext } from './command.js';
import { keyValueJson } from './look-json.js';
import { revisionOf, withReader } from './open-reader.js';
import { Stdout } from './stdout.js';

export const exportCommand: Command = {
  name: 'export',
  description:
    'Prints every key, or with --prefix those that begin so, as it was at a revision, one JSON object a line: key and value in ' +
    'base64, create_revision, mod_revision, version and lease as numbers, what is zero or empty left out. In order of ' +
    'keys, with memory that does not grow with their number.',
  flags: [storeFlags, lookFlags, exportFlags, loggingFlags],
  run: exportKeys,
};

async function exportKeys(context: CommandContext): Promise<void> {
  const { given, signal } = context;
  const { key, isPrefix, ...moment } = parseExportConfig(given);
  await withReader('export', context, async (reader) => {
    const at = await revisionOf(reader, moment, signal);
    const { rows } = await reader.state({ key, isPrefix }, at, { signal });
    const out = new Stdout();
    for await (const row of rows) if (!(await out.write(`${keyValueJson(row.key, row)}\n`))) break;
    await out.flush();
  });
}
