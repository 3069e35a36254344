/** Looking into backups. Mirrors crates/addon/src/look.rs. */
import * as binding from './binding.js';
import { call, callSync, type NativeOptions } from './call.js';
import { type LookRow, readRows } from './look-rows.js';

export type { IdentifiedBackup, LookedDelta, LookedFull, LookPart, LookQuery } from './binding.js';
export type { LookRow, LookRowKind, LookVersion } from './look-rows.js';

/** Rows cross in batches of about this size; a larger row is a batch of its own. */
const BATCH_BYTES = 1024 * 1024;

/** A full that can be read at any place. `object` is what errors name. */
export class OpenFull {
  readonly object: string;
  readonly native: binding.LookFull;

  private constructor(object: string, native: binding.LookFull) {
    this.object = object;
    this.native = native;
  }

  /** `codec` null: a plain database that an etcd may have open, which is then LOCKED. */
  static async open(
    object: string,
    {
      path,
      codec,
      tempDir,
    }: { readonly path: string; readonly codec: string | null; readonly tempDir: string },
    options: NativeOptions = {},
  ): Promise<OpenFull> {
    const open = (control: binding.JobControl) => binding.openLookFull(path, codec, tempDir, control);
    return new OpenFull(object, await call('read', object, open, options));
  }

  get revision(): bigint {
    return this.native.revision();
  }

  /** The last record of one main revision, of all without one; null when there is none. */
  lastRecord(main: bigint | null, options: NativeOptions = {}): Promise<binding.RecordIdentity | null> {
    return call('read', this.object, (control) => this.native.lastRecord(main, control), options);
  }

  /** Records up to here may be compacted away; -1 when none ever were. */
  get compacted(): bigint {
    return this.native.compacted();
  }
}

/** One question: objects in any order, then the rows. */
export class Look {
  readonly #look: binding.Look;

  constructor(query: binding.LookQuery) {
    this.#look = callSync('look', 'query', () => new binding.Look(query));
  }

  full(full: OpenFull, part: binding.LookPart, options: NativeOptions = {}): Promise<binding.LookedFull> {
    return call('read', full.object, (control) => this.#look.full(full.native, part, control), options);
  }

  delta(
    object: string,
    path: string,
    part: binding.LookPart,
    options: NativeOptions = {},
  ): Promise<binding.LookedDelta> {
    return call('read', object, (control) => this.#look.delta(path, part, control), options);
  }

  /** In order of keys. No object can be added once this has begun. A row's buffers belong to its batch. */
  async *rows(options: NativeOptions = {}): AsyncGenerator<LookRow> {
    for (;;) {
      const batch = await call('read', 'rows', (control) => this.#look.rows(BATCH_BYTES, control), options);
      if (batch === null) return;
      yield* readRows(batch);
    }
  }
}

/** Whether a file is a full or a delta, by its first bytes. */
export function identifyBackup(path: string, options: NativeOptions = {}): Promise<binding.IdentifiedBackup> {
  return call('read', path, () => binding.identifyBackup(path), options);
}
