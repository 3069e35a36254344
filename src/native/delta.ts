/** Deltas: writing from the watch, recovery, verification, conversion. Mirrors crates/addon/src/delta_{file,writer}.rs. */
import * as binding from './binding.js';
import { call, callSync, type NativeOptions } from './call.js';

export type {
  DeltaHeader,
  DeltaLastEvent,
  DeltaMoment,
  DeltaStats,
  DeltaSummary,
  LeaseGrant,
  PushedResponse,
  VerifiedDelta,
} from './binding.js';

export type BlockCodec = 'zstd' | 'none';
/** How the Go tool compresses its JSON. */
export type JsonCodec = 'none' | 'gzip' | 'zlib' | 'lzw';

/** A delta that is being written. */
export class DeltaWriter {
  readonly path: string;
  readonly #writer: binding.DeltaWriter;

  private constructor(path: string, writer: binding.DeltaWriter) {
    this.path = path;
    this.#writer = writer;
  }

  /** Creates the file, which must not exist. */
  static create(path: string, header: binding.DeltaHeader, codec: BlockCodec): DeltaWriter {
    const writer = callSync('write delta', path, () => new binding.DeltaWriter(path, header, codec));
    return new DeltaWriter(path, writer);
  }

  /** Takes over a delta whose writer is gone, cut to its complete revisions; null when it had been finished. */
  static async recover(
    path: string,
    codec: BlockCodec,
    options: NativeOptions = {},
  ): Promise<DeltaWriter | null> {
    const start = (control: binding.JobControl) => binding.recoverDelta(path, codec, control);
    const writer = await call('recover delta', path, start, options);
    return writer === null ? null : new DeltaWriter(path, writer);
  }

  /** Takes one raw WatchResponse. A refused response leaves the delta as it was. */
  pushResponse(response: Uint8Array, nowMs: number): binding.PushedResponse {
    return callSync('write delta', this.path, () => this.#writer.pushResponse(response, nowMs));
  }

  /** Forgets what is there of an incomplete revision; returns the revision that a new watch must start at. */
  dropPartial(): bigint {
    return callSync('write delta', this.path, () => this.#writer.dropPartial());
  }

  resumeRevision(): bigint {
    return this.#writer.resumeRevision();
  }

  /** Ids that the delta names, ascending. */
  leases(): bigint[] {
    return this.#writer.leases();
  }

  stats(): binding.DeltaStats {
    return this.#writer.stats();
  }

  /** Hands complete revisions to the disk and waits for it. */
  sync(options: NativeOptions = {}): Promise<void> {
    return call('write delta', this.path, () => this.#writer.sync(), options);
  }

  /** Writes leases, index and trailer, and syncs. Nothing may be pushed afterwards. */
  finish(leases: readonly binding.LeaseGrant[], options: NativeOptions = {}): Promise<binding.DeltaSummary> {
    return call('finish delta', this.path, () => this.#writer.finish([...leases]), options);
  }
}

/** Reads a delta of either format through and compares everything that can be. `object` is what an error names. */
export function verifyDelta(
  object: string,
  path: string,
  options: NativeOptions = {},
): Promise<binding.VerifiedDelta> {
  return call('verify', object, (control) => binding.verifyDelta(path, control), options);
}

/** Of an .ebd from its last block, of JSON by reading it through. */
export function deltaLastEvent(
  object: string,
  path: string,
  options: NativeOptions = {},
): Promise<binding.DeltaLastEvent> {
  return call('inspect', object, (control) => binding.deltaLastEvent(path, control), options);
}

/** The last event of one main revision; null when the delta holds none of it. */
export function deltaEventAt(
  object: string,
  path: string,
  main: bigint,
  options: NativeOptions = {},
): Promise<binding.DeltaLastEvent | null> {
  return call('inspect', object, (control) => binding.deltaEventAt(path, main, control), options);
}

/**
 * Up to where the delta had arrived at a time. Where the clock was set back, the first event that arrived later, in the
 * order of revisions, ends what had.
 */
export function deltaMoment(
  object: string,
  path: string,
  timeMs: number,
  options: NativeOptions = {},
): Promise<binding.DeltaMoment> {
  return call('find time', object, (control) => binding.deltaMoment(path, timeMs, control), options);
}

/** Reads a delta of either format through and writes it as a local .ebd, which must not exist. */
export function transcodeDelta(
  object: string,
  { source, target, codec }: { readonly source: string; readonly target: string; readonly codec: BlockCodec },
  options: NativeOptions = {},
): Promise<binding.DeltaSummary> {
  return call('read', object, (control) => binding.transcodeDelta(source, target, codec, control), options);
}

/** Writes an .ebd as the Go tool would have written it, to a file that must not exist. */
export function exportDelta(
  object: string,
  request: { readonly source: string; readonly target: string; readonly compression: JsonCodec },
  options: NativeOptions = {},
): Promise<binding.DeltaSummary> {
  const { source, target, compression } = request;
  return call(
    'export',
    object,
    (control) => binding.exportDelta(source, target, compression, control),
    options,
  );
}
