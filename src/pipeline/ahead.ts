/**
 * Deltas on their way before anybody asks for them: while their base is still fetched and checked. The plan may change
 * meanwhile; then what is on its way is thrown away and begun anew.
 */
import type { PlannedDelta } from '../snapshot/plan.js';
import { DeltaStream, type FetchSource, type WindowOptions } from './fetch.js';
import type { PreparedDelta } from './task.js';

export interface BoundedDelta extends PreparedDelta {
  /** Last revision of it that counts: it may go on in a history that a restore has left. */
  readonly through: bigint;
}

export class DeltasAhead {
  readonly #source: FetchSource;
  readonly #options: WindowOptions;
  #stream: DeltaStream | undefined;
  #names = '';

  constructor(source: FetchSource, options: WindowOptions) {
    this.#source = source;
    this.#options = options;
  }

  /** Begins to fetch them, as far as the window goes, unless the same ones are on their way. */
  async expect(deltas: readonly PlannedDelta[]): Promise<void> {
    const objects = deltas.map(({ object }) => object);
    const names = objects.map(({ name }) => name.text).join(' ');
    if (this.#stream !== undefined && this.#names === names) return;
    await this.close();
    this.#names = names;
    this.#stream = new DeltaStream(this.#source, objects, this.#options);
  }

  /** All of them, in order, once. Leaving early stops and removes everything. */
  async *take(deltas: readonly PlannedDelta[]): AsyncGenerator<BoundedDelta> {
    await this.expect(deltas);
    const stream = this.#stream as DeltaStream;
    this.#stream = undefined;
    const bounds = deltas.values();
    for await (const delta of stream) {
      yield { ...delta, through: bounds.next().value?.to ?? delta.lastRevision };
    }
  }

  async close(): Promise<void> {
    const stream = this.#stream;
    this.#stream = undefined;
    await stream?.close();
  }
}
