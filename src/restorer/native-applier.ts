/** Appends deltas to the base itself, without an etcd: crates/engine/src/append.rs. The base becomes the result. */
import { appendDeltas } from '../native/index.js';
import type { Applied, Applier, ApplyRequest } from './applier.js';

export class NativeApplier implements Applier {
  async apply({ base, deltas, seat, signal, onProgress }: ApplyRequest): Promise<Applied> {
    const request = { path: base.path, object: base.object.name.text, seat };
    const { revision, events, checkpoints, lastEventMs } = await appendDeltas(request, deltas, {
      signal,
      onProgress: (reached) => onProgress?.(BigInt(reached)),
    });
    return {
      dbPath: base.path,
      ...{ revision, events, checkpoints },
      lastEventMs: lastEventMs ?? undefined,
      childPeakBytes: undefined,
    };
  }
}
