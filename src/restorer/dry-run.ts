/** What a restore would do, told from names and manifests; nothing is fetched and nothing is written. */
import { readCatalog } from '../pipeline/catalog.js';
import { type Moment, planTime } from '../snapshot/at-time.js';
import { planRestore } from '../snapshot/chain.js';
import type { Plan, PlanInput, PlanResult, RevisionRange, StoredSnapshot } from '../snapshot/plan.js';
import { restorableRanges } from '../snapshot/restorable.js';
import { checkCluster } from './cluster.js';
import { takeOldMember } from './old-member.js';
import { planByName } from './plan-by-name.js';
import { tooEarlyError } from './refusal.js';
import type { RestoreRequest } from './restore.js';
import { freeBytes, type SpaceNeed, spaceNeed } from './space.js';
import { locateTarget, type Target } from './target.js';

/** Of two slow cores and an ordinary disk: an estimate is to be kept, not beaten. */
const FETCH_BYTES_PER_SECOND = 100e6;
const CHECK_BYTES_PER_SECOND = 150e6;
const REPLAYED_REVISIONS_PER_SECOND = 2_000;
const APPENDED_REVISIONS_PER_SECOND = 50_000;
const START_AND_STOP_SECONDS = 3;

export interface DryRun {
  readonly target: Target;
  /** Of the member that is there now; undefined when there is none, or its database cannot be read. */
  readonly oldRevision: bigint | undefined;
  readonly result: PlanResult;
  /** Every revision that could be a target. */
  readonly restorable: readonly RevisionRange[];
  /** Where the wished time lies, as far as names and manifests tell. */
  readonly when: When | undefined;
  /** Undefined when nothing can be planned without reading content. */
  readonly estimate: Estimate | undefined;
}

export type When =
  | { readonly kind: 'moment'; readonly moment: Moment }
  /** The restore reads the object to tell which of its revisions. */
  | { readonly kind: 'within'; readonly timeMs: number; readonly object: StoredSnapshot };

export interface Estimate {
  readonly plan: Plan;
  readonly objects: readonly StoredSnapshot[];
  readonly need: SpaceNeed;
  readonly freeBytes: number;
  readonly seconds: number;
}

export async function dryRun(request: RestoreRequest): Promise<DryRun> {
  const { store, observer, signal, base, exclude, timeline, toRevision, toTimeMs } = request;
  checkCluster(request);
  const target = await locateTarget(request.dataDir);
  const old = await takeOldMember(target, observer, { signal });
  old?.lock.release();
  const { objects, warnings } = await readCatalog(store, { signal });
  for (const warning of warnings) observer.warn(warning);
  const input: PlanInput = { objects, base, exclude, timeline };
  const found = toTimeMs === undefined ? { targetRevision: toRevision } : aimAt(input, toTimeMs);
  const result = found.result ?? planRestore({ ...input, targetRevision: found.targetRevision });
  const plan = planByName(result);
  const estimate = plan && {
    plan,
    objects: [plan.base, ...plan.deltas.map(({ object }) => object)],
    need: spaceNeed(plan, request),
    freeBytes: await freeBytes(target.part),
    seconds: secondsFor(plan, request),
  };
  const restorable = restorableRanges(input);
  return { target, oldRevision: old?.revision, result, restorable, when: found.when, estimate };
}

interface Aim {
  readonly targetRevision?: bigint | undefined;
  readonly when?: When;
  readonly result?: PlanResult;
}

/** As far as it can be told without reading: where a delta would have to be asked, its end. */
function aimAt(input: PlanInput, timeMs: number): Aim {
  const found = planTime(input, timeMs, new Map());
  switch (found.kind) {
    case 'moment':
      return {
        targetRevision: found.moment.reached.revision,
        when: { kind: 'moment', moment: found.moment },
      };
    case 'needs-delta':
    case 'needs-base-revision':
      return {
        targetRevision: found.object.manifest?.revision ?? found.object.name.last,
        when: { kind: 'within', timeMs, object: found.object },
      };
    case 'too-early':
      throw tooEarlyError(timeMs, found.earliest);
    case 'undecided':
      return { result: found.result };
  }
}

/** Of a restore, by its plan alone. */
export function secondsFor(
  plan: Plan,
  request: Pick<RestoreRequest, 'maxInflightBytes' | 'applier' | 'pack' | 'compact'>,
): number {
  const fetch = plan.bytes / FETCH_BYTES_PER_SECOND;
  const check = spaceNeed(plan, request).likelyBytes / CHECK_BYTES_PER_SECOND;
  if (plan.deltas.length === 0) return Math.ceil(fetch + check);
  const revisions = Number(plan.revision - plan.baseRevision);
  if (request.applier === 'native')
    return Math.ceil(fetch + check + revisions / APPENDED_REVISIONS_PER_SECOND);
  const replay = revisions / REPLAYED_REVISIONS_PER_SECOND;
  return Math.ceil(fetch + check + replay + START_AND_STOP_SECONDS);
}
