/**
 * One question to one store or file: plans which objects are read, reads them natively, and hands on the rows. Nothing
 * is written but temporary files; objects are opened for reading only.
 */
import { BackupError } from '../errors.js';
import { Look, type LookQuery, type LookRow } from '../native/index.js';
import type { ObjectFiles, ReadOptions } from './object-files.js';
import type { Part } from './parts.js';
import { withWayAround } from './refusal.js';

export interface Asked {
  /** Object that a row comes from. */
  readonly nameOf: (row: LookRow) => string;
  readonly rows: AsyncGenerator<LookRow>;
}

export async function ask(
  files: ObjectFiles,
  query: LookQuery,
  parts: readonly Part[],
  options: ReadOptions,
): Promise<Asked> {
  const look = new Look(query);
  for (const [source, part] of parts.entries()) {
    options.signal?.throwIfAborted();
    if (await readPart(look, files, source, part, options)) break;
  }
  return { nameOf: ({ source }) => parts[source]?.object.name.text ?? '', rows: look.rows(options) };
}

/** True when nothing older can change the answer. */
async function readPart(
  look: Look,
  files: ObjectFiles,
  source: number,
  { object, side, after, through }: Part,
  options: ReadOptions,
): Promise<boolean> {
  const name = object.name.text;
  try {
    if (object.name.kind === 'full') {
      const full = await files.full(object, options);
      return (await look.full(full, { source, side, after }, options)).found;
    }
    return await files.withDelta(object, options, async (path) => {
      const { firstRevision, lastRevision, found } = await look.delta(
        name,
        path,
        { source, side, after },
        options,
      );
      if (firstRevision <= after + 1n && lastRevision >= through) return found;
      const what = `it holds revisions ${firstRevision}-${lastRevision}, not what its name says`;
      throw new BackupError('CORRUPT', what, { op: 'read', object: name });
    });
  } catch (error) {
    throw withWayAround(error, name);
  }
}
