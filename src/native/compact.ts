/** Databases written anew: packed, compacted, and packed as fulls. Mirrors crates/addon/src/{pack,compact}.rs. */
import * as binding from './binding.js';
import { call, type NativeOptions } from './call.js';
import type { WriteCodec } from './full.js';

export type { CompactedDb, PackedDb, PackedFull, RecordsDigest } from './binding.js';

export interface PackRequest {
  /** A bare database: no trailer. */
  readonly base: string;
  /** Local .ebd files, in order. */
  readonly deltas: readonly string[];
  /** Last revision that counts; null: all. */
  readonly until: bigint | null;
  /** Must not exist; removed on failure. */
  readonly target: string;
}

/** Base and deltas as a new, synced database without free pages. An error names the file. Progress in records. */
export function packDb(request: PackRequest, options: NativeOptions = {}): Promise<binding.PackedDb> {
  const start = (control: binding.JobControl) => binding.packDb(plain(request), control);
  return call('pack', (file) => file ?? request.base, start, options);
}

export interface Compaction {
  readonly at: bigint;
  /** Whether a deletion at that very revision stays, as etcd has it since 3.4.34, 3.5.16 and 3.6. */
  readonly keepsTombstonesAt: boolean;
}

/** The same with what a compaction leaves; COMPACTED when the base is compacted there or beyond. Progress in records. */
export function compactDb(
  request: PackRequest,
  { at, keepsTombstonesAt }: Compaction,
  options: NativeOptions = {},
): Promise<binding.CompactedDb> {
  const start = (control: binding.JobControl) =>
    binding.compactDb(plain(request), at, keepsTombstonesAt, control);
  return call('compact', (file) => file ?? request.base, start, options);
}

/** Over all records of the `key` bucket, to be compared with what was written. */
export function digestRecords(path: string, options: NativeOptions = {}): Promise<binding.RecordsDigest> {
  return call('prove', path, (control) => binding.digestRecords(path, control), options);
}

export interface PackFullRequest {
  /** A bare database. */
  readonly source: string;
  /** Must not exist; removed on failure. */
  readonly target: string;
  readonly codec: WriteCodec;
}

/** A database as a full, with its trailer. Progress in bytes read. */
export function packFull(request: PackFullRequest, options: NativeOptions = {}): Promise<binding.PackedFull> {
  const { source, target, codec } = request;
  return call('pack', source, (control) => binding.packFull(source, target, codec, control), options);
}

function plain(request: PackRequest): binding.PackRequest {
  return { ...request, deltas: [...request.deltas] };
}
