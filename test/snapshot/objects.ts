/** Short hand for sets of objects: times are seconds after an epoch, revisions plain numbers. */
import type { Manifest } from '../../src/snapshot/manifest.js';
import { formatName, parseName } from '../../src/snapshot/name.js';
import type { Plan, PlanInput, PlanResult, StoredSnapshot } from '../../src/snapshot/plan.js';

const EPOCH_SECS = 1_700_000_000;

type ManifestPart = Partial<Omit<Manifest, 'lastRecord'>> & { readonly record?: string };

/** The Go tool's unless it has a manifest. */
export function full(last: number, secs: number, manifest?: ManifestPart): StoredSnapshot {
  return object(manifest === undefined ? '.gz' : '.zst', 0, last, secs, manifest);
}

export function delta(start: number, last: number, secs: number, manifest?: ManifestPart): StoredSnapshot {
  return object(manifest === undefined ? '.gz' : '.ebd', start, last, secs, manifest);
}

export function named(text: string, bytes = 100): StoredSnapshot {
  const parsed = parseName(text);
  if (!parsed.ok) throw new Error(`${text} ${parsed.reason}`);
  return { key: `v2/${text}`, name: parsed.name, bytes };
}

/** True revisions of the Go tool's fulls, where the names are right. */
export function asNamed(objects: readonly StoredSnapshot[]): Pick<PlanInput, 'objects' | 'baseRevisions'> {
  const fulls = objects.filter(({ name, manifest }) => name.kind === 'full' && manifest === undefined);
  return { objects, baseRevisions: new Map(fulls.map(({ name }) => [name.text, name.last])) };
}

/** "base 100, 101-200 of Incr-…" without the zeros and times of the names. */
export function sketch(plan: Plan | undefined): string {
  if (plan === undefined) return 'none';
  const deltas = plan.deltas.map(
    ({ object, from, to }) => `${from}-${to} of ${object.name.start}-${object.name.last}`,
  );
  return [`base ${plan.baseRevision}`, ...deltas].join(', ');
}

export function planOf(result: PlanResult): Plan | undefined {
  if (result.kind === 'ready' || result.kind === 'needs-base-revision') return result.plan;
  return result.kind === 'gap' ? result.best : undefined;
}

function object(
  suffix: string,
  start: number,
  last: number,
  secs: number,
  part: ManifestPart | undefined,
): StoredSnapshot {
  const kind = suffix === '.zst' || (suffix === '.gz' && start === 0) ? 'full' : 'delta';
  const codec = suffix === '.gz' ? 'gzip' : suffix === '.zst' ? 'zstd' : 'ebd';
  const text = formatName({
    kind,
    start: BigInt(start),
    last: BigInt(last),
    createdSecs: EPOCH_SECS + secs,
    codec,
  });
  const stored = named(text);
  return part === undefined ? stored : { ...stored, manifest: manifestOf(stored, part) };
}

function manifestOf({ name, bytes }: StoredSnapshot, { record, ...part }: ManifestPart): Manifest {
  const revision = part.revision ?? name.last;
  const sha256 = '00'.repeat(32);
  const lastRecord = { keyBase64: 'aw==', modRevision: revision, tombstone: false, sha256: record ?? sha256 };
  const stated = record === undefined ? {} : { lastRecord };
  return { version: 1, name: name.text, revision, bytes, sha256, ...stated, ...part };
}
