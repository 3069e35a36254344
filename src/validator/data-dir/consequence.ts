/**
 * From verdict to consequence, as the Go tool's initialisation has it (its `initializer.go`): a wrong volume and what
 * cannot be told stop it; a member of several gets its data from the others; a single one is restored, or, when there
 * is no backup at all, starts empty, since the store is what counts.
 */
import type { Consequence, GoStatus, Verdict } from './verdict.js';

export interface Circumstances {
  readonly members: number;
  /** Undefined: no store was asked. */
  readonly storeIsEmpty: boolean | undefined;
}

export function consequenceOf(verdict: Verdict, { members, storeIsEmpty }: Circumstances): Consequence {
  switch (verdict) {
    case 'ok':
      return 'start';
    case 'wrong volume':
    case 'cannot be decided':
    case 'another history':
      return 'stop';
    case 'nothing there':
    case 'damaged':
    case 'behind the store':
      if (members > 1) return 'rejoin';
      return storeIsEmpty === true ? 'start empty' : 'restore';
  }
}

/** `own`: what the Go tool calls this state of a single member. */
export function statusOf(
  verdict: Verdict,
  own: GoStatus,
  { members, storeIsEmpty }: Circumstances,
): GoStatus {
  if (verdict === 'ok') return 'Valid';
  if (verdict === 'wrong volume') return 'WrongVolumeMounted';
  if (verdict === 'cannot be decided' || verdict === 'another history') return 'StatusUnknown';
  return members > 1 && storeIsEmpty !== true ? 'InvalidInMultiNode' : own;
}
