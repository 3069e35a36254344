/** What a merge would do, from names and manifests; nothing is fetched and nothing is written. */
import { readCatalog } from '../pipeline/catalog.js';
import { planByName } from '../restorer/plan-by-name.js';
import { freeBytes, type SpaceNeed } from '../restorer/space.js';
import { planRestore } from '../snapshot/chain.js';
import type { PlanResult, StoredSnapshot } from '../snapshot/plan.js';
import type { CompactRequest } from './compact.js';
import { deltaBytesOf, needOf, notWorthIt, secondsToRestore } from './worth.js';

export interface CompactDryRun {
  readonly result: PlanResult;
  /** Undefined when nothing can be planned without reading content. */
  readonly estimate: CompactEstimate | undefined;
}

export interface CompactEstimate {
  readonly revision: bigint;
  readonly objects: readonly StoredSnapshot[];
  readonly bytes: number;
  readonly deltaBytes: number;
  /** Of a restore as things are, and of the base alone: what a merge would come to at best. */
  readonly restoreSeconds: number;
  readonly baseSeconds: number;
  readonly need: SpaceNeed;
  readonly freeBytes: number;
  /** Why nothing would be done. */
  readonly notWorthIt: string | undefined;
}

export async function compactDryRun(request: CompactRequest): Promise<CompactDryRun> {
  const { store, observer, signal, base, exclude, timeline, tempDir } = request;
  const { objects, warnings } = await readCatalog(store, { signal });
  for (const warning of warnings) observer.warn(warning);
  const result = planRestore({ objects, base, exclude, timeline });
  const plan = planByName(result);
  const estimate = plan && {
    revision: plan.revision,
    objects: [plan.base, ...plan.deltas.map(({ object }) => object)],
    ...{ bytes: plan.bytes, deltaBytes: deltaBytesOf(plan) },
    restoreSeconds: secondsToRestore(plan, request),
    baseSeconds: secondsToRestore({ ...plan, deltas: [], bytes: plan.base.bytes }, request),
    need: needOf(plan, request),
    freeBytes: await freeBytes(tempDir),
    notWorthIt: plan.deltas.length === 0 ? 'there are no deltas' : notWorthIt(plan, request),
  };
  return { result, estimate };
}
