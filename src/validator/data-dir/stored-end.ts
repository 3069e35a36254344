/** The newest state that a store holds, by names and manifests: what a data directory is compared with. */
import { readCatalog } from '../../pipeline/catalog.js';
import { planRestore } from '../../snapshot/chain.js';
import type { LastRecord } from '../../snapshot/manifest.js';
import type { Plan, StoredSnapshot } from '../../snapshot/plan.js';
import type { Store } from '../../store/store.js';

export interface StoredEnd {
  readonly object: string;
  readonly revision: bigint;
  /** The record at that revision, where a manifest has it. */
  readonly record: LastRecord | undefined;
  /** Worth telling: a gap, a fork. */
  readonly note: string | undefined;
}

/** Undefined for a store without backups. */
export async function readStoredEnd(
  store: Store,
  options: {
    readonly signal?: AbortSignal | undefined;
    readonly onWarning?: ((text: string) => void) | undefined;
  },
): Promise<StoredEnd | undefined> {
  const { objects, warnings } = await readCatalog(store, options);
  for (const warning of warnings) options.onWarning?.(warning);
  const result = planRestore({ objects });
  switch (result.kind) {
    case 'ready':
    case 'needs-base-revision':
      return endOfPlan(result.plan);
    case 'gap':
      return {
        ...highestOf(objects),
        note: `the store misses revisions before its newest, ${result.wanted}: verify it`,
      };
    case 'fork':
    case 'questions':
      return {
        ...highestOf(objects),
        note: 'the store may hold two histories; the higher one is meant here',
      };
    case 'nothing':
      if (objects.length === 0) return undefined;
      return { ...highestOf(objects), note: `nothing in the store can be restored: ${result.reason}` };
  }
}

function endOfPlan({ base, deltas, revision }: Plan): StoredEnd {
  const { name, manifest } = deltas.at(-1)?.object ?? base;
  const record = manifest?.lastRecord;
  return {
    ...{ object: name.text, revision, note: undefined },
    record: record?.modRevision === revision ? record : undefined,
  };
}

function highestOf(objects: readonly StoredSnapshot[]): Omit<StoredEnd, 'note'> {
  const end = ({ name, manifest }: StoredSnapshot) => manifest?.revision ?? name.last;
  const highest = objects.reduce((high, object) => (end(object) > end(high) ? object : high));
  return { object: highest.name.text, revision: end(highest), record: undefined };
}
