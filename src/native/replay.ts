/** Deltas as ready transactions. Mirrors crates/addon/src/replay.rs. */
import * as binding from './binding.js';
import { call, callSync, type NativeOptions } from './call.js';

export type { ReplayBatch } from './binding.js';

/** Reads deltas in order, from a revision on, and digests the records that they stand for. */
export class Replay {
  readonly #replay: binding.Replay;
  #object = '';

  /** Revisions up to `after` are passed over. */
  constructor(after: bigint) {
    this.#replay = new binding.Replay(after);
  }

  /**
   * Begins the next file, an .ebd, of which revisions up to `through` count. REVISION_GAP when it starts too late.
   * `object` is what errors name.
   */
  open(object: string, path: string, through: bigint): void {
    this.#object = object;
    callSync('replay', object, () => this.#replay.open(path, through));
  }

  /** The next batch of the open file, null at its end. */
  next(options: NativeOptions = {}): Promise<binding.ReplayBatch | null> {
    return call('replay', this.#object, (control) => this.#replay.next(control), options);
  }

  /** Last revision handed out. */
  position(): bigint {
    return this.#replay.position();
  }

  /** Arrival of the last event handed out, milliseconds since the epoch; null before the first. */
  lastEventMs(): number | null {
    return this.#replay.lastEventMs();
  }

  /** Leases that the events so far name and that their files grant. */
  grants(): binding.LeaseGrant[] {
    return this.#replay.grants();
  }

  /** Digest over all records handed out so far. */
  checkpoint(): binding.RecordCheckpoint {
    return this.#replay.checkpoint();
  }
}
