/** What an object of a store says about itself: fetched and unpacked into a temporary directory. */
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { BackupError } from '../errors.js';
import { inspectDb, verifyDelta } from '../native/index.js';
import { readCatalog } from '../pipeline/catalog.js';
import { download } from '../pipeline/download.js';
import { isMeant } from '../snapshot/name.js';
import type { StoredSnapshot } from '../snapshot/plan.js';
import type { Store } from '../store/store.js';
import { receiveFull } from './receive-full.js';

export interface InspectOptions {
  readonly signal?: AbortSignal | undefined;
}

export async function inspectObject(
  store: Store,
  typed: string,
  tempDir: string,
  options: InspectOptions = {},
): Promise<object> {
  const { objects } = await readCatalog(store, options);
  const object = objects.find(({ name }) => isMeant(typed, name.text));
  if (object === undefined) {
    const hint = `it is neither a file here nor an object in ${store.location}; see the names with \`list\``;
    throw new BackupError('NOT_FOUND', 'does not exist', { op: 'inspect', object: typed, hint });
  }
  await mkdir(tempDir, { recursive: true, mode: 0o700 });
  const workDir = await mkdtemp(join(tempDir, 'etcdbr-inspect-'));
  try {
    const path = join(workDir, object.name.text);
    const { key, bytes, manifest } = object;
    return {
      key,
      objectBytes: bytes,
      ...(await describe(store, object, path, options)),
      manifest: manifest ?? null,
    };
  } finally {
    await rm(workDir, { recursive: true, force: true });
  }
}

async function describe(
  store: Store,
  object: StoredSnapshot,
  path: string,
  options: InspectOptions,
): Promise<object> {
  const name = object.name.text;
  if (object.name.encrypted) {
    const hint = 'list it to see what its manifest says';
    throw new BackupError('UNSUPPORTED', 'is encrypted, which cannot be read yet', {
      op: 'inspect',
      object: name,
      hint,
    });
  }
  if (object.name.kind === 'delta') {
    await download(store, object, path, options);
    const { format, summary, header, leases } = await verifyDelta(name, path, options);
    return { kind: `delta (${format})`, ...summary, ...header, leases: leases.length };
  }
  const { trailer } = await receiveFull(store, object, path, options);
  return { kind: 'full', trailer, ...(await inspectDb(path, options)) };
}
