/** What a restore says when it cannot do what was asked: the reason, the object, and the command for what can be had. */
import { formatBytes } from '../base/bytes.js';
import { isoTime } from '../base/iso-time.js';
import { BackupError } from '../errors.js';
import { whatOf } from '../pipeline/failure.js';
import type { Stand } from '../snapshot/at-time.js';
import type { Branch, Plan, PlanResult, RevisionRange } from '../snapshot/plan.js';
import { rangesText } from '../snapshot/ranges-text.js';

const OP = 'restore';

/** What a restore would refuse without reading a byte. */
export function refuseUnlessPossible(
  result: PlanResult,
  { allowOlder, command }: { readonly allowOlder: boolean; readonly command: string },
  restorable: readonly RevisionRange[],
): void {
  if (result.kind === 'gap' && result.best.baseRevisionKnown && !allowOlder)
    throw gapError(result, command, restorable);
  if (result.kind === 'fork') throw forkError(result.branches, command);
  if (result.kind === 'nothing') throw nothingError(result.reason, result.nearest, restorable);
}

export function gapError(
  { missing, wanted, best, nextBest }: Extract<PlanResult, { kind: 'gap' }>,
  command: string,
  restorable: readonly RevisionRange[],
): BackupError {
  const what = `revisions ${rangesText(missing)} are in no usable object, so revision ${wanted} cannot be had`;
  const others = nextBest.map(
    (plan) => `revision ${plan.revision}: ${command} --base ${plan.base.name.text} --allow-older`,
  );
  return new BackupError('REVISION_GAP', what, {
    op: OP,
    ...(missing[0] === undefined ? {} : { object: `revision ${missing[0].from}` }),
    hint: [
      `The newest state up to there that can be had is ${describePlan(best)}:`,
      `  ${command} --allow-older`,
      ...others.map((line) => `  ${line}`),
      ...restorableLine(restorable),
    ].join('\n'),
  });
}

/** A damaged object without which the newest state cannot be had. */
export function olderError(
  damage: BackupError,
  plan: Plan,
  damaged: readonly string[],
  wanted: bigint,
  command: string,
): BackupError {
  const excludes = damaged.map((object) => ` --exclude ${object}`).join('');
  return new BackupError(damage.code, whatOf(damage), {
    op: OP,
    object: damage.object ?? damaged[0] ?? '',
    hint: [
      `Revision ${wanted} cannot be had without it. The newest state that can be had is ${describePlan(plan)}:`,
      `  ${command}${excludes} --allow-older`,
    ].join('\n'),
    cause: damage,
  });
}

export function forkError(branches: readonly Branch[], command: string): BackupError {
  const lines = branches.map((branch) => {
    const marks = [branch.isNewest ? 'newest' : '', branch.isHighest ? 'highest' : ''].filter(
      (mark) => mark !== '',
    );
    return (
      `  from ${branch.first}: revisions ${branch.lowestRevision}-${branch.highestRevision}, ` +
      `${time(branch.oldestSecs)} to ${time(branch.newestSecs)}, ${branch.objects} objects, ${formatBytes(branch.bytes)}` +
      `${marks.length > 0 ? ` (${marks.join(', ')})` : ''}`
    );
  });
  return new BackupError(
    'FORK',
    `the store holds ${branches.length} histories that were not joined by a restore`,
    {
      op: OP,
      object: branches[0]?.first ?? '',
      hint: [
        ...lines,
        'Choose one:',
        `  ${command} --timeline newest`,
        `  ${command} --timeline highest`,
        `  ${command} --base NAME`,
      ].join('\n'),
    },
  );
}

export function nothingError(
  reason: string,
  nearest: Plan | undefined,
  restorable: readonly RevisionRange[],
): BackupError {
  const lowest =
    nearest === undefined ? [] : [`the lowest state that can be had is ${describePlan(nearest)}`];
  const hint = [...lowest, ...restorableLine(restorable)].join('\n');
  return new BackupError('NOTHING_TO_RESTORE', reason, { op: OP, ...(hint === '' ? {} : { hint }) });
}

export function tooEarlyError(timeMs: number, earliest: Stand | undefined): BackupError {
  const what = `nothing in the store is from ${isoTime(timeMs)} or before`;
  return new BackupError('NOTHING_TO_RESTORE', what, {
    op: OP,
    ...(earliest === undefined
      ? {}
      : { hint: `the earliest is revision ${earliest.revision}, of ${isoTime(earliest.atMs)}` }),
  });
}

function restorableLine(ranges: readonly RevisionRange[]): string[] {
  return ranges.length === 0 ? [] : [`Revisions that can be restored to: ${rangesText(ranges)}`];
}

export function describePlan({ revision, base, deltas }: Plan): string {
  const last = deltas.at(-1)?.object ?? base;
  const with_ =
    deltas.length === 0 ? '' : ` and ${deltas.length} ${deltas.length === 1 ? 'delta' : 'deltas'}`;
  return `revision ${revision} of ${time(last.name.createdSecs)} (${base.name.text}${with_})`;
}

export function time(secs: number): string {
  return isoTime(secs * 1000);
}
