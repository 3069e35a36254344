import type { Plan, PlanResult } from '../snapshot/plan.js';

/** The plan that holds if every name is right and nothing is damaged; undefined where there is not even that. */
export function planByName(result: PlanResult): Plan | undefined {
  if (result.kind === 'ready' || result.kind === 'needs-base-revision') return result.plan;
  return result.kind === 'gap' ? result.best : undefined;
}
