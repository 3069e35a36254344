/** What the objects of a store are together: one chain without holes or contradictions, or what is wrong with it. */
import type { Catalog } from '../pipeline/catalog.js';
import { planRestore } from '../snapshot/chain.js';
import type { ContentAnswer, ContentQuestion, PlanInput, PlanResult } from '../snapshot/plan.js';
import { restorableRanges } from '../snapshot/restorable.js';
import type { ChainProblem, ChainVerdict, ObjectVerdict, Predecessor } from './verdict.js';

/** Whether two objects are of one history, by their content. */
export type Answer = (question: ContentQuestion) => Promise<ContentAnswer>;

/** Each round answers everything that was asked; the planner asks anew only for what followed from the answers. */
const MAX_ROUNDS = 8;
/** Orphans that are named one by one; all are counted. */
const MAX_NAMED = 10;

export async function verifyChain(
  catalog: Catalog,
  verdicts: readonly ObjectVerdict[],
  answer: Answer | undefined,
): Promise<ChainVerdict> {
  const bad = verdicts.filter(({ problems }) => problems.length > 0).map(({ object }) => object);
  const baseRevisions = new Map<string, bigint>();
  for (const { object, revision } of verdicts)
    if (revision !== undefined) baseRevisions.set(object, revision);
  const present = new Set(verdicts.map(({ object }) => object));
  const objects = catalog.objects.filter(({ name }) => present.has(name.text));
  const { plan, input } = await settle({ objects, exclude: bad, baseRevisions }, answer);
  return {
    plan,
    restorable: restorableRanges(input),
    problems: contradictions(catalog, verdicts),
    notes: notesOn(catalog),
  };
}

async function settle(
  input: PlanInput,
  answer: Answer | undefined,
): Promise<{ plan: PlanResult; input: PlanInput }> {
  const answers: ContentAnswer[] = [];
  for (let round = 1; ; round++) {
    const asked = { ...input, answers };
    const plan = planRestore(asked);
    if (plan.kind !== 'questions' || answer === undefined || round > MAX_ROUNDS)
      return { plan, input: asked };
    for (const question of plan.questions) answers.push(await answer(question));
  }
}

/** What one object says of another, by its manifest and by its own header, and what that other one is. */
function contradictions({ objects }: Catalog, verdicts: readonly ObjectVerdict[]): ChainProblem[] {
  const found: ChainProblem[] = [];
  const byName = new Map(verdicts.map((verdict) => [verdict.object, verdict]));
  for (const { name, manifest } of objects) {
    const verdict = byName.get(name.text);
    const claims: [string, Predecessor | undefined][] = [
      ['its manifest', manifest?.previous && { sha256: undefined, ...manifest.previous }],
      ['its header', verdict?.predecessor],
    ];
    for (const [where, claim] of claims) {
      if (claim === undefined) continue;
      const before = byName.get(claim.name);
      const text = before && contradiction(name.start, name.kind === 'delta', claim, before);
      if (text !== undefined) found.push({ object: name.text, text: `${where} ${text}` });
    }
    const [manifested, own] = claims.map(([, claim]) => claim?.name);
    if (manifested !== undefined && own !== undefined && manifested !== own) {
      found.push({
        object: name.text,
        text: `its manifest says that it continues ${manifested}, its header says ${own}`,
      });
    }
  }
  return found;
}

function contradiction(
  start: bigint,
  isDelta: boolean,
  claim: Predecessor,
  before: ObjectVerdict,
): string | undefined {
  if (claim.sha256 !== undefined && before.sha256 !== undefined && claim.sha256 !== before.sha256) {
    return `says that it continues ${claim.name} with SHA-256 ${claim.sha256}, which has ${before.sha256}`;
  }
  if (isDelta && before.revision !== undefined && before.revision + 1n < start) {
    return `says that it continues ${claim.name}, which ends at revision ${before.revision}; it starts at ${start}`;
  }
  return undefined;
}

function notesOn({ foreign, manifests }: Catalog): string[] {
  const notes: string[] = [];
  if (foreign.count > 0) {
    const more = foreign.count - foreign.examples.length;
    notes.push(...foreign.examples, ...(more > 0 ? [`and ${more} names more that are no backups`] : []));
  }
  const { orphans } = manifests;
  for (const name of orphans.slice(0, MAX_NAMED)) notes.push(`${name}: has a manifest, and is not there`);
  if (orphans.length > MAX_NAMED)
    notes.push(`and ${orphans.length - MAX_NAMED} manifests more of what is not there`);
  return notes;
}
