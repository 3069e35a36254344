/**
 * Verifies objects of a store one after another, in the order of a restore, and the chain that they make. A damaged
 * object is a verdict, not an error: the others are looked at all the same.
 */
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { BackupError, isBackupError } from '../errors.js';
import { type Catalog, readCatalog } from '../pipeline/catalog.js';
import { planRestore } from '../snapshot/chain.js';
import { isMeant } from '../snapshot/name.js';
import type { PlanResult, StoredSnapshot } from '../snapshot/plan.js';
import type { Store } from '../store/store.js';
import type { ObjectVerdict, SetVerdict, VerifyOptions } from './verdict.js';
import { verifyDelta } from './verify-delta.js';
import { verifyFull } from './verify-full.js';

export interface VerifySetOptions extends VerifyOptions {
  /** As typed; empty for everything. */
  readonly names: readonly string[];
  readonly tempDir: string;
  readonly onVerdict?: ((verdict: ObjectVerdict) => void) | undefined;
  readonly onWarning?: ((text: string) => void) | undefined;
}

export async function verifySet(store: Store, options: VerifySetOptions): Promise<SetVerdict> {
  const catalog = await readCatalog(store, options);
  for (const warning of catalog.warnings) options.onWarning?.(warning);
  const chosen = choose(catalog, options.names);
  await mkdir(options.tempDir, { recursive: true, mode: 0o700 });
  const workDir = await mkdtemp(join(options.tempDir, 'etcdbr-verify-'));
  try {
    const objects: ObjectVerdict[] = [];
    for (const object of chosen) {
      const verdict = await verifyOne(store, object, workDir, options);
      options.onVerdict?.(verdict);
      objects.push(verdict);
    }
    return { objects, plan: options.names.length > 0 ? undefined : planChain(catalog, objects) };
  } finally {
    await rm(workDir, { recursive: true, force: true });
  }
}

async function verifyOne(
  store: Store,
  object: StoredSnapshot,
  workDir: string,
  options: VerifyOptions,
): Promise<ObjectVerdict> {
  try {
    const verify = object.name.kind === 'full' ? verifyFull : verifyDelta;
    return await verify(store, object, workDir, options);
  } catch (error) {
    const damaged = [
      'CORRUPT',
      'TRUNCATED',
      'CHECKSUM',
      'NOT_SORTED',
      'REVISION_GAP',
      'UNSUPPORTED',
    ] as const;
    if (!damaged.some((code) => isBackupError(error, code))) throw error;
    return {
      object: object.name.text,
      revision: undefined,
      records: undefined,
      problems: [(error as Error).message],
    };
  }
}

function choose({ objects }: Catalog, names: readonly string[]): StoredSnapshot[] {
  const inOrder = [...objects].sort((a, b) =>
    a.name.last < b.name.last ? -1 : a.name.last > b.name.last ? 1 : 0,
  );
  if (names.length === 0) return inOrder;
  return names.map((typed) => {
    const found = inOrder.find(({ name }) => isMeant(typed, name.text));
    if (found !== undefined) return found;
    throw new BackupError('NOT_FOUND', 'is not in the store', {
      op: 'verify',
      object: typed,
      hint: 'see the names with `list`',
    });
  });
}

/** What a restore would do, damaged objects left out. */
function planChain({ objects }: Catalog, verdicts: readonly ObjectVerdict[]): PlanResult {
  const bad = verdicts.filter(({ problems }) => problems.length > 0).map(({ object }) => object);
  const baseRevisions = new Map<string, bigint>();
  for (const { object, revision } of verdicts)
    if (revision !== undefined) baseRevisions.set(object, revision);
  return planRestore({ objects, exclude: bad, baseRevisions });
}
