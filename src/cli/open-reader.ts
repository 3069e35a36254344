/** The reader that the flags ask for: of a store, or of one file. */
import { mkdir } from 'node:fs/promises';
import { type MomentConfig, parseLookConfig } from '../config/look.js';
import { parseStoreConfig } from '../config/store.js';
import { BackupError } from '../errors.js';
import { readCatalog } from '../pipeline/catalog.js';
import { FileReader } from '../reader/file-reader.js';
import type { Reader } from '../reader/reader.js';
import { StoreReader } from '../reader/store-reader.js';
import type { CommandContext } from './command.js';
import { openConfiguredStore, whereToLook } from './store-access.js';

/** The revision that is meant; undefined for the newest. */
export async function revisionOf(
  reader: Reader,
  { atRevision, atTimeMs }: MomentConfig,
  signal: AbortSignal,
): Promise<bigint | undefined> {
  return atTimeMs === undefined ? atRevision : reader.revisionAt(atTimeMs, { signal });
}

/** Reads with it, and closes it whatever happens. */
export async function withReader<T>(
  op: string,
  context: CommandContext,
  use: (reader: Reader) => Promise<T>,
): Promise<T> {
  const reader = await openReader(op, context);
  try {
    return await use(reader);
  } finally {
    await reader.close();
  }
}

async function openReader(op: string, context: CommandContext): Promise<Reader> {
  const { given, log, signal } = context;
  const { file, exclude, timeline } = parseLookConfig(given);
  const { tempDir } = parseStoreConfig(given);
  await mkdir(tempDir, { recursive: true, mode: 0o700 });
  if (file !== undefined) return new FileReader({ op, path: file, tempDir });
  const opened = await openConfiguredStore(context);
  const { objects, warnings } = await readCatalog(opened.store, { signal });
  for (const warning of warnings) log.warn(warning);
  if (objects.length === 0) {
    const hint = await whereToLook(opened, signal);
    throw new BackupError('NOTHING_TO_RESTORE', 'there are no backups', {
      op,
      object: opened.store.location,
      hint,
    });
  }
  const warn = (text: string) => log.warn(text);
  return new StoreReader(objects, {
    op,
    exclude,
    timeline,
    warn,
    info: (text) => log.info(text),
    store: opened.store,
    settings: opened.config,
    tempDir,
  });
}
