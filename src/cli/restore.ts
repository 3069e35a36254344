/** `restore`: the newest state that a store holds, or an earlier one, into a data directory. */
import { formatBytes } from '../base/bytes.js';
import { isoTime } from '../base/iso-time.js';
import { loggingFlags } from '../config/logging.js';
import { outputFlags, parseOutput } from '../config/output.js';
import { parseRestoreConfig, restoreFlags } from '../config/restore.js';
import { storeFlags } from '../config/store.js';
import { BackupError, isBackupError } from '../errors.js';
import { momentLine } from '../pipeline/moment-line.js';
import { shellWord } from '../restorer/cluster.js';
import { type DryRun, dryRun, type When } from '../restorer/dry-run.js';
import { refuseUnlessPossible } from '../restorer/refusal.js';
import { reportLines, reportOf } from '../restorer/report.js';
import { type RestoreRequest, restore } from '../restorer/restore.js';
import type { Plan } from '../snapshot/plan.js';
import type { Command, CommandContext } from './command.js';
import { describePlan } from './describe-plan.js';
import { type OpenedStore, openConfiguredStore, whereToLook } from './store-access.js';

export const restoreCommand: Command = {
  name: 'restore',
  description:
    'Restores the newest state, or that of --to-revision or --to-time, into --data-dir: fetches the full and its deltas, appends the deltas to the full (no etcd ' +
    'is needed), proves the result, and only then exchanges the directory. The old one is kept beside it.',
  flags: [storeFlags, restoreFlags, outputFlags, loggingFlags],
  run: runRestore,
};

async function runRestore(context: CommandContext): Promise<void> {
  const opened = await openConfiguredStore(context);
  const request = requestOf(context, opened);
  const { json } = parseOutput(context.given);
  try {
    if (request.dryRun) {
      const planned = await dryRun(request);
      tellPlan(context, planned, json);
      refuseUnlessPossible(planned.result, request, planned.restorable);
      return;
    }
    const report = reportOf(request, await restore(request));
    context.progress.end();
    if (json) context.out.json(report);
    else for (const line of reportLines(report)) context.out.text(line);
  } catch (error) {
    context.progress.end();
    throw await withPlaces(error, opened, context.signal);
  }
}

function requestOf(context: CommandContext, { store, config }: OpenedStore): RestoreRequest {
  const { log, progress, signal } = context;
  return {
    ...parseRestoreConfig(context.given),
    store,
    settings: config,
    command: commandLine(context),
    signal,
    observer: {
      progress: (stage, done, total, unit) => progress.update(stage, done, total, unit),
      warn: (text) => log.warn(text),
      info: (text) => log.info(text),
    },
  };
}

/** As typed, so that what is suggested can be copied. */
function commandLine({ program, given }: CommandContext): string {
  const flags = [...given].flatMap(([name, texts]) => texts.map((text) => `--${name}=${shellWord(text)}`));
  return [program, 'restore', ...flags].join(' ');
}

async function withPlaces(error: unknown, opened: OpenedStore, signal: AbortSignal): Promise<unknown> {
  if (!isBackupError(error, 'NOTHING_TO_RESTORE')) return error;
  const hint = [error.hint, await whereToLook(opened, signal)]
    .filter((line) => line !== undefined)
    .join('\n');
  return new BackupError('NOTHING_TO_RESTORE', error.message, { hint, cause: error });
}

function tellPlan({ out }: CommandContext, plan: DryRun, json: boolean): void {
  if (json) {
    out.json(plan);
    return;
  }
  const { target, oldRevision, result, estimate, when } = plan;
  out.text(
    `would restore into ${target.dataDir}${oldRevision === undefined ? '' : `, which is at revision ${oldRevision}`}`,
  );
  if (when !== undefined) out.text(whenLine(when));
  for (const line of describePlan(result)) out.text(line);
  if (estimate === undefined) return;
  const { objects, need, freeBytes, seconds } = estimate;
  out.table(
    ['OBJECT', 'REVISIONS', 'BYTES'],
    objects.map(({ name, bytes }, index) => [name.text, usedOf(estimate.plan, index), String(bytes)]),
  );
  out.text(`ends at  revision ${estimate.plan.revision}`);
  out.text(`fetch    ${formatBytes(estimate.plan.bytes)} in ${objects.length} objects`);
  out.text(
    `disk     about ${formatBytes(need.likelyBytes)} beside the data directory, ${formatBytes(freeBytes)} are free`,
  );
  out.text(`time     about ${seconds} s`);
}

function whenLine(when: When): string {
  if (when.kind === 'moment') return momentLine(when.moment);
  const { name } = when.object;
  return `The state at ${isoTime(when.timeMs)} lies within ${name.text}, at or below revision ${when.object.manifest?.revision ?? name.last}; the restore reads from it where`;
}

/** "10-20 of 8-25" where a delta is cut. */
function usedOf({ base, baseRevision, deltas }: Plan, index: number): string {
  const delta = deltas[index - 1];
  if (delta === undefined) return base.name.kind === 'full' ? `0-${baseRevision}` : '';
  const { start, last } = delta.object.name;
  const used = `${delta.from}-${delta.to}`;
  return delta.from === start && delta.to === last ? used : `${used} of ${start}-${last}`;
}
