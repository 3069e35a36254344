/** The write-ahead log of a member. Mirrors crates/addon/src/wal.rs. */
import * as binding from './binding.js';
import { call, type NativeOptions } from './call.js';

export type { WalBeyond, WalRepair, WalRequest, WalSurvey, WalTorn } from './binding.js';

/** Reads the log as etcd does at boot. Damage is a finding, not an error. Writes nothing. */
export function surveyWal(
  request: binding.WalRequest,
  options: NativeOptions = {},
): Promise<binding.WalSurvey> {
  return call('verify', request.walDir, (control) => binding.surveyWal(request, control), options);
}

/** Cuts off a torn tail, as etcd does at boot, and keeps the file as it was; null when nothing is torn. */
export function repairWal(
  walDir: string,
  { minor }: { readonly minor: number | null },
): Promise<binding.WalRepair | null> {
  return call('repair', walDir, () => binding.repairWal(walDir, minor));
}
