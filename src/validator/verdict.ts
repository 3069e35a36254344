/** What a verification says. */
import type { PlanResult } from '../snapshot/plan.js';

export interface VerifyOptions {
  readonly signal?: AbortSignal | undefined;
  readonly onProgress?: ((bytes: number) => void) | undefined;
}

export interface ObjectVerdict {
  readonly object: string;
  /** Undefined when it could not be read that far. */
  readonly revision: bigint | undefined;
  /** Records of a full, events of a delta. */
  readonly records: number | undefined;
  /** Empty: nothing is wrong. */
  readonly problems: readonly string[];
}

export interface SetVerdict {
  readonly objects: readonly ObjectVerdict[];
  /** What a restore would do; undefined when only some objects were asked for. */
  readonly plan: PlanResult | undefined;
}
