/**
 * Plans a restore from names and manifests alone: the newest state (or a given revision) of one history that a full
 * and the deltas after it can be proven to hold without a hole. It never joins objects of two timelines, never
 * passes over a missing revision in silence, and reads nothing: where a fact is in an object's content (the true
 * revision of a base, whether two timelines are one), it says which, to be asked again.
 */
import { BackupError } from '../errors.js';
import { type BranchPiece, type History, type Settled, settleTimelines } from './branch.js';
import { lowestState, type Outcome, planHistory } from './candidate.js';
import { isMeant } from './name.js';
import { collectPieces, isUsable, type Piece } from './piece.js';
import type { Branch, PlanInput, PlanResult, PlanWarning } from './plan.js';
import { MAX_QUESTIONS } from './question.js';
import { compareRevisions, higher, lower } from './revision.js';
import { splitTimelines } from './timeline.js';

/** A set with more timelines is listed up to here; each of them costs the reader a decision. */
const MAX_BRANCHES = 16;

export function planRestore(input: PlanInput): PlanResult {
  const choice = chooseOne(input);
  return 'kind' in choice ? choice : answer(choice.chosen.outcome, choice.warnings);
}

/** The objects of the history that a restore would be of; why there is none, or which question decides, otherwise. */
export function chooseHistory(input: PlanInput): { readonly pieces: readonly BranchPiece[] } | PlanResult {
  const choice = chooseOne(input);
  return 'kind' in choice ? choice : { pieces: choice.chosen.history.pieces };
}

function chooseOne(
  input: PlanInput,
): { readonly chosen: Contender; readonly warnings: readonly PlanWarning[] } | PlanResult {
  const warnings: PlanWarning[] = [];
  const pieces = collectPieces(input, warnings);
  checkBase(input);
  const settled = settleTimelines(splitTimelines(pieces), input.answers ?? []);
  const contenders = findContenders(settled, input);
  if (contenders.length === 0)
    return { kind: 'nothing', warnings, ...explainNothing(pieces, settled, input) };
  const chosen = chooseContender(contenders, input);
  if (chosen === undefined) return refuseFork(contenders, settled, warnings);
  warnings.push(...passedOver(settled, chosen));
  return { chosen, warnings };
}

interface Contender {
  readonly history: History;
  readonly outcome: Outcome;
  readonly newestSecs: number;
}

function checkBase({ base, objects }: PlanInput): void {
  if (base === undefined) return;
  if (objects.some(({ name }) => name.kind === 'full' && isMeant(base, name.text))) return;
  throw new BackupError('NOT_FOUND', 'no full of this name is in the store', {
    op: 'plan restore',
    object: `--base ${base}`,
    hint: 'see the names with `list`',
  });
}

/**
 * The histories that could be restored as wished. A superseded one only counts when its own full is asked for. A revision
 * that one of them alone reaches decides for it, unless `timeline` has decided already: then it is reached there or not.
 */
function findContenders(settled: Settled, input: PlanInput): Contender[] {
  const { targetRevision, timeline } = input;
  const found = contendersFor(settled, input);
  if (targetRevision === undefined || found.length === 0) return found;
  if (timeline !== undefined) {
    const chosen = chooseContender(contendersFor(settled, { ...input, targetRevision: undefined }), input);
    return found.filter(({ history }) => history === chosen?.history);
  }
  const reaching = found.filter(({ outcome }) => outcome.best.revision === targetRevision);
  return reaching.length > 0 ? reaching : found;
}

function contendersFor({ histories, unsure }: Settled, input: PlanInput): Contender[] {
  const withPlan = (candidates: readonly History[]): Contender[] => {
    const found: Contender[] = [];
    for (const history of candidates) {
      const outcome = planHistory(history.pieces, input);
      if (outcome !== undefined) found.push({ history, outcome, newestSecs: newestSecs(history, unsure) });
    }
    return found;
  };
  const leaves = withPlan(histories.filter(({ isLeaf }) => isLeaf));
  const others = histories.filter(({ isLeaf }) => !isLeaf);
  return leaves.length > 0 || input.base === undefined ? leaves : withPlan(others);
}

function chooseContender(contenders: readonly Contender[], { timeline }: PlanInput): Contender | undefined {
  if (contenders.length === 1) return contenders[0];
  if (timeline === undefined) return undefined;
  return timeline === 'newest' ? newest(contenders) : highest(contenders);
}

function newest(contenders: readonly Contender[]): Contender | undefined {
  return best(contenders, (a, b) => a.newestSecs - b.newestSecs);
}

function highest(contenders: readonly Contender[]): Contender | undefined {
  return best(contenders, (a, b) => {
    const byRevision = compareRevisions(a.outcome.best.revision, b.outcome.best.revision);
    return byRevision === 0 ? a.newestSecs - b.newestSecs : byRevision;
  });
}

function best(
  contenders: readonly Contender[],
  compare: (a: Contender, b: Contender) => number,
): Contender | undefined {
  return contenders.reduce<Contender | undefined>(
    (found, contender) => (found === undefined || compare(contender, found) >= 0 ? contender : found),
    undefined,
  );
}

function answer(outcome: Outcome, warnings: readonly PlanWarning[]): PlanResult {
  const { best: plan, wanted, missing, nextBest } = outcome;
  const complete = plan.revision >= wanted;
  if (plan.baseRevisionKnown && complete) return { kind: 'ready', plan, warnings };
  // The base may hold more than its name says, and so what seems to be missing right behind it.
  if (!plan.baseRevisionKnown && (complete || plan.deltas.length === 0)) {
    return { kind: 'needs-base-revision', base: plan.base, plan, warnings };
  }
  return { kind: 'gap', wanted, missing, best: plan, nextBest, warnings };
}

function refuseFork(
  contenders: readonly Contender[],
  settled: Settled,
  warnings: readonly PlanWarning[],
): PlanResult {
  if (settled.questions.length > 0) {
    return { kind: 'questions', questions: settled.questions.slice(0, MAX_QUESTIONS), warnings };
  }
  const [newestOne, highestOne] = [newest(contenders), highest(contenders)];
  const branches = contenders
    .map((contender) => toBranch(contender, contender === newestOne, contender === highestOne))
    .sort((a, b) => b.newestSecs - a.newestSecs);
  return { kind: 'fork', branches: branches.slice(0, MAX_BRANCHES), warnings };
}

function toBranch(
  { history, outcome, newestSecs: newestAt }: Contender,
  isNewest: boolean,
  isHighest: boolean,
): Branch {
  const own = history.timelines.flatMap(({ pieces }) => pieces).filter(isUsable);
  const [first] = history.timelines;
  const lows = own.map(({ name, last }) => (name.kind === 'full' ? last : name.start));
  return {
    first: first?.first.name.text ?? '',
    begins: first?.begins ?? 'oldest',
    lowestRevision: lows.reduce(lower, outcome.best.revision),
    highestRevision: own.map(({ last }) => last).reduce(higher, 0n),
    oldestSecs: own.reduce((oldest, { name }) => Math.min(oldest, name.createdSecs), newestAt),
    newestSecs: newestAt,
    objects: own.length,
    bytes: own.reduce((sum, { object }) => sum + object.bytes, 0),
    isNewest,
    isHighest,
    plan: outcome.best,
  };
}

/** Of what was once there, lost and excluded objects included: they do not make a timeline older. */
function newestSecs({ timelines }: History, unsure: ReadonlySet<Piece>): number {
  let secs = 0;
  for (const piece of timelines.flatMap(({ pieces }) => pieces)) {
    if (!unsure.has(piece)) secs = Math.max(secs, piece.name.createdSecs);
  }
  return secs;
}

/** What the plan does not use though it may matter to the reader. */
function passedOver(settled: Settled, { history }: Contender): PlanWarning[] {
  const warnings: PlanWarning[] = [...settled.unsure].map((piece) => ({
    object: piece.name.text,
    text: 'may belong to either of two timelines, so it is left out',
  }));
  for (const other of settled.histories) {
    if (other === history || !other.isLeaf) continue;
    const first = other.timelines[0]?.first.name.text;
    warnings.push({ object: first, text: 'begins another timeline, which is passed over' });
  }
  return warnings;
}

function explainNothing(
  pieces: readonly Piece[],
  settled: Settled,
  { targetRevision, base }: PlanInput,
): Pick<Extract<PlanResult, { kind: 'nothing' }>, 'reason' | 'nearest'> {
  const fulls = pieces.filter(({ name, object }) => object !== undefined && name.kind === 'full');
  const deltas = pieces.filter(({ name, object }) => object !== undefined && name.kind === 'delta');
  if (fulls.length + deltas.length === 0) return { reason: 'there is no backup' };
  if (fulls.length === 0) return { reason: `there are ${deltas.length} deltas, but no full to begin with` };
  if (!fulls.some(isUsable)) return { reason: 'every full is excluded' };
  if (targetRevision === undefined) {
    return {
      reason: base === undefined ? 'no full can be used' : `--base ${base} is excluded, or of unsure history`,
    };
  }
  const leaves = settled.histories.filter(({ isLeaf }) => isLeaf);
  const nearest = leaves
    .map(({ pieces: ofHistory }) => lowestState(ofHistory))
    .filter((plan) => plan !== undefined)
    .sort((a, b) => compareRevisions(a.revision, b.revision))[0];
  return { reason: `no full is at or below revision ${targetRevision}`, nearest };
}
