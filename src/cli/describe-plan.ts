/** What the planner says, in lines for people. */
import { formatBytes } from '../base/bytes.js';
import { isoTime } from '../base/iso-time.js';
import type { Plan, PlanResult } from '../snapshot/plan.js';
import { rangesText } from '../snapshot/ranges-text.js';

export function describePlan(result: PlanResult): string[] {
  const warnings = result.warnings.map(({ object, text }) =>
    object === undefined ? text : `${object}: ${text}`,
  );
  return [...describeResult(result), ...warnings.map((text) => `note: ${text}`)];
}

function describeResult(result: PlanResult): string[] {
  switch (result.kind) {
    case 'ready':
      return [`restorable to revision ${result.plan.revision}: ${summary(result.plan)}`];
    case 'needs-base-revision':
      return [
        `restorable to revision ${result.plan.revision} or above: ${summary(result.plan)}`,
        `(${result.base.name.text} has no manifest; a restore reads its true revision from it)`,
      ];
    case 'gap':
      return [
        `INCOMPLETE: revisions ${rangesText(result.missing)} are in no usable object`,
        `restorable to revision ${result.best.revision} of ${result.wanted}: ${summary(result.best)}`,
      ];
    case 'questions':
      return result.questions.map(
        ({ lower, higher }) =>
          `${lower.name.text} and ${higher.name.text} may be of two histories; a restore compares them`,
      );
    case 'fork':
      return [
        'FORKED: two histories lie in this store; --timeline newest or --timeline highest decides',
        ...result.branches.map(
          (branch) =>
            `  from ${branch.first}: revisions ${branch.lowestRevision}-${branch.highestRevision}, ` +
            `${branch.objects} objects, ${formatBytes(branch.bytes)}, newest of ${time(branch.newestSecs)}` +
            `${branch.isNewest ? ' (newest)' : ''}${branch.isHighest ? ' (highest)' : ''}`,
        ),
      ];
    case 'nothing':
      return [`nothing to restore: ${result.reason}`];
  }
}

function summary({ base, deltas, bytes }: Plan): string {
  return `${base.name.text} and ${deltas.length} deltas, ${formatBytes(bytes)}`;
}

function time(secs: number): string {
  return isoTime(secs * 1000);
}
