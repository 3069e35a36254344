/** Deltas appended to a base natively, while they still arrive. Mirrors crates/addon/src/apply.rs. */
import * as binding from './binding.js';
import { call, type NativeOptions } from './call.js';

export type { AppendedDeltas } from './binding.js';

export interface AppendRequest {
  /** The base, which becomes the result, in place. Up to the end it stays what it was. */
  readonly path: string;
  /** What errors of the base name. */
  readonly object: string;
  readonly seat: binding.SeatRequest;
}

/** An .ebd; errors in it name `object`. */
export interface DeltaFile {
  readonly path: string;
  /** Last revision of it that counts. */
  readonly through: bigint;
  readonly object: string;
}

/** Takes each delta when the one before has been read to its end. Progress is the revision that is reached. */
export async function appendDeltas(
  { path, object, seat }: AppendRequest,
  deltas: AsyncIterable<DeltaFile>,
  options: NativeOptions = {},
): Promise<binding.AppendedDeltas> {
  const feed = new binding.DeltaFeed();
  let current = object;
  const running = call(
    'restore',
    (file) => (file === undefined ? object : current),
    (control) => binding.appendDeltas(path, feed, seat, control),
    options,
  );
  running.catch(() => undefined);
  try {
    for await (const delta of deltas) {
      current = delta.object;
      if (!(await feed.push(delta.path, delta.through))) break;
    }
    feed.end();
  } catch (error) {
    feed.abort();
    await running.catch(() => undefined);
    throw error;
  }
  return running;
}
