/** What an object of a store says about itself: fetched and unpacked into a temporary directory. */
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { BackupError } from '../errors.js';
import { inspectDb, unpackFull, verifyDelta } from '../native/index.js';
import { readCatalog } from '../pipeline/catalog.js';
import { download } from '../pipeline/download.js';
import { isMeant } from '../snapshot/name.js';
import type { StoredSnapshot } from '../snapshot/plan.js';
import type { Store } from '../store/store.js';
import { codecOf, MAX_PLAIN_BYTES } from './verify-full.js';

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
    await download(store, object, path, options);
    const { key, bytes, manifest } = object;
    return {
      key,
      objectBytes: bytes,
      ...(await describe(object, path, options)),
      manifest: manifest ?? null,
    };
  } finally {
    await rm(workDir, { recursive: true, force: true });
  }
}

async function describe(object: StoredSnapshot, path: string, options: InspectOptions): Promise<object> {
  const name = object.name.text;
  if (object.name.kind === 'delta') {
    const { format, summary, header, leases } = await verifyDelta(name, path, options);
    return { kind: `delta (${format})`, ...summary, ...header, leases: leases.length };
  }
  const plain = `${path}.plain`;
  const request = { source: path, target: plain, codec: codecOf(object), stripTrailer: false };
  const { trailer } = await unpackFull(name, { ...request, maxBytes: MAX_PLAIN_BYTES }, options);
  return { kind: 'full', trailer, ...(await inspectDb(plain, options)) };
}
