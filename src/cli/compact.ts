/** `compact`: base and deltas of a store become one new full. */
import { formatBytes } from '../base/bytes.js';
import { type CompactRequest, type CompactResult, compactStore } from '../compactor/compact.js';
import { type CompactDryRun, compactDryRun } from '../compactor/dry-run.js';
import { compactFlags, parseCompactConfig } from '../config/compact.js';
import { loggingFlags } from '../config/logging.js';
import { outputFlags, parseOutput } from '../config/output.js';
import { storeFlags } from '../config/store.js';
import { BackupError, isBackupError } from '../errors.js';
import type { Command, CommandContext } from './command.js';
import { describePlan } from './describe-plan.js';
import { type OpenedStore, openConfiguredStore, whereToLook } from './store-access.js';

export const compactCommand: Command = {
  name: 'compact',
  description:
    'Merges the newest full and its deltas into one new full, compacted at their last revision, without an etcd: fetched ' +
    'into the temp directory, proven, and only then stored. Removes nothing. With --keep-history every revision stays.',
  flags: [storeFlags, compactFlags, outputFlags, loggingFlags],
  run: compact,
};

async function compact(context: CommandContext): Promise<void> {
  const opened = await openConfiguredStore(context);
  const request = requestOf(context, opened);
  const { json } = parseOutput(context.given);
  try {
    if (request.dryRun) {
      tellPlan(context, await compactDryRun(request), json);
      return;
    }
    const result = await compactStore(request);
    context.progress.end();
    tell(context, result, json);
  } catch (error) {
    context.progress.end();
    if (!isBackupError(error, 'NOTHING_TO_RESTORE')) throw error;
    const hint = await whereToLook(opened, context.signal);
    throw new BackupError('NOTHING_TO_RESTORE', error.message, { hint, cause: error });
  }
}

function requestOf(context: CommandContext, { store, config }: OpenedStore): CompactRequest {
  const { given, program, log, progress, signal } = context;
  return {
    ...parseCompactConfig(given, program),
    ...{ store, settings: config, tempDir: config.tempDir, signal },
    command: `${program} compact`,
    observer: {
      progress: (stage, done, total, unit) => progress.update(stage, done, total, unit),
      warn: (text) => log.warn(text),
      info: (text) => log.info(text),
    },
  };
}

function tell({ out, log }: CommandContext, result: CompactResult, json: boolean): void {
  if (json) out.json(result);
  if (!result.done) {
    log.warn(`nothing was stored: ${result.why}`);
    if (!json) out.text(`Nothing to do at revision ${result.revision}: ${result.why}.`);
    return;
  }
  if (json) return;
  const { name, revision, keys, records, base, deltas, events, bytes, plainBytes, mergedBytes } = result;
  out.text(`Stored ${name}: revision ${revision}, ${keys} keys in ${records} records.`);
  out.text(
    `Merged from ${base} and ${deltas} deltas (${events} events): ${formatBytes(mergedBytes)} became ${formatBytes(bytes)} (${formatBytes(plainBytes)} unpacked).`,
  );
  out.text(`Nothing was removed. Took ${(result.elapsedMs / 1000).toFixed(1)} s.`);
}

function tellPlan({ out }: CommandContext, plan: CompactDryRun, json: boolean): void {
  if (json) {
    out.json(plan);
    return;
  }
  for (const line of describePlan(plan.result)) out.text(line);
  const { estimate } = plan;
  if (estimate === undefined) return;
  out.text(
    `would merge ${estimate.objects.length} objects of ${formatBytes(estimate.bytes)} into one full of revision ${estimate.revision}`,
  );
  out.text(
    `disk     about ${formatBytes(estimate.need.likelyBytes)} in the temp directory, ${formatBytes(estimate.freeBytes)} are free`,
  );
  out.text(
    `restore  about ${estimate.restoreSeconds} s as things are, ${estimate.baseSeconds} s of the full alone`,
  );
  if (estimate.notWorthIt !== undefined) out.text(`nothing would be done: ${estimate.notWorthIt}`);
}
