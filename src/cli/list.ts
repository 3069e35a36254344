/** `list`: what the store holds, and what can be restored from it. */
import { formatBytes } from '../base/bytes.js';
import { isoTime } from '../base/iso-time.js';
import { loggingFlags } from '../config/logging.js';
import { outputFlags, parseOutput } from '../config/output.js';
import { storeFlags } from '../config/store.js';
import { BackupError } from '../errors.js';
import { type Catalog, readCatalog } from '../pipeline/catalog.js';
import { planRestore } from '../snapshot/chain.js';
import type { StoredSnapshot } from '../snapshot/plan.js';
import { rangesText } from '../snapshot/ranges-text.js';
import { restorableRanges } from '../snapshot/restorable.js';
import type { Command, CommandContext } from './command.js';
import { describePlan } from './describe-plan.js';
import { openConfiguredStore, whereToLook } from './store-access.js';

export const listCommand: Command = {
  name: 'list',
  description:
    'Lists every backup, oldest revision first, and says which states a restore can reach. Exit code 3 when there is none.',
  flags: [storeFlags, outputFlags, loggingFlags],
  run: list,
};

async function list(context: CommandContext): Promise<void> {
  const { out, log, signal } = context;
  const opened = await openConfiguredStore(context);
  const catalog = await readCatalog(opened.store, { signal });
  for (const warning of catalog.warnings) log.warn(warning);
  const objects = [...catalog.objects].sort(inOrder);
  if (objects.length === 0) {
    throw new BackupError('NOTHING_TO_RESTORE', 'there are no backups', {
      op: 'list',
      object: opened.store.location,
      hint: await whereToLook(opened, signal),
    });
  }
  const plan = planRestore({ objects });
  const restorable = restorableRanges({ objects });
  if (parseOutput(context.given).json) {
    out.json({
      location: opened.store.location,
      objects: objects.map(toJson),
      foreign: catalog.foreign,
      restorable,
      plan,
    });
    return;
  }
  out.table(['NAME', 'KIND', 'FROM', 'TO', 'SIZE', 'CREATED'], objects.map(toRow));
  tellForeign(catalog, context);
  for (const line of describePlan(plan)) out.text(line);
  if (restorable.length > 0) out.text(`revisions that can be had: ${rangesText(restorable)}`);
}

function inOrder(a: StoredSnapshot, b: StoredSnapshot): number {
  if (a.name.last !== b.name.last) return a.name.last < b.name.last ? -1 : 1;
  return a.name.createdSecs - b.name.createdSecs;
}

function toRow({ name, bytes, manifest }: StoredSnapshot): string[] {
  const to = manifest?.revision ?? name.last;
  const from = name.kind === 'full' ? '' : String(name.start);
  return [name.text, name.kind, from, String(to), formatBytes(bytes), createdAt(name.createdSecs)];
}

function toJson({ key, name, bytes, manifest }: StoredSnapshot): object {
  return {
    key,
    name: name.text,
    kind: name.kind,
    startRevision: name.start,
    lastRevision: manifest?.revision ?? name.last,
    bytes,
    createdAt: createdAt(name.createdSecs),
    final: name.final,
    sha256: manifest?.sha256 ?? null,
  };
}

function createdAt(secs: number): string {
  return isoTime(secs * 1000);
}

function tellForeign({ foreign }: Catalog, { log }: CommandContext): void {
  if (foreign.count === 0) return;
  log.warn(`${foreign.count} objects are no backups and are passed over, for example ${foreign.examples[0]}`);
}
