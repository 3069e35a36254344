/** Looking at a database file. Nothing here writes. Mirrors crates/addon/src/db.rs. */
import * as binding from './binding.js';
import { call, type NativeOptions } from './call.js';

export type {
  DbCheck,
  DbInfo,
  DbMember,
  Finding,
  HashKv,
  MvccCheck,
  RecordIdentity,
  SnapshotFile,
  UnknownLeases,
} from './binding.js';

export interface CheckRequest {
  readonly threads: number;
  /** Findings that are described; all are counted. */
  readonly maxFindings: number;
}

/** Every page of the file. Progress in pages. */
export function checkDb(
  path: string,
  { threads, maxFindings }: CheckRequest,
  options: NativeOptions = {},
): Promise<binding.DbCheck> {
  return call('check', path, (control) => binding.checkDb(path, threads, maxFindings, control), options);
}

/** Every record of the `key` bucket. */
export function checkMvcc(
  path: string,
  { maxFindings }: Pick<CheckRequest, 'maxFindings'>,
  options: NativeOptions = {},
): Promise<binding.MvccCheck> {
  return call('check', path, (control) => binding.checkMvcc(path, maxFindings, control), options);
}

/** Small buckets and both ends of the `key` bucket. */
export function inspectDb(path: string, options: NativeOptions = {}): Promise<binding.DbInfo> {
  return call('inspect', path, (control) => binding.inspectDb(path, control), options);
}

/** The last record of one main revision; null when the file has none of it. */
export function recordAt(
  path: string,
  main: bigint,
  options: NativeOptions = {},
): Promise<binding.RecordIdentity | null> {
  return call('inspect', path, (control) => binding.recordAt(path, main, control), options);
}

/** HashKV as an etcd that was compacted at `compactRevision` answers for `revision`. */
export function hashKv(
  path: string,
  { revision, compactRevision }: { readonly revision: bigint; readonly compactRevision: bigint },
  options: NativeOptions = {},
): Promise<binding.HashKv> {
  return call('HashKV', path, (control) => binding.hashKv(path, revision, compactRevision, control), options);
}

/** Live keys whose lease the database does not grant. */
export function unknownLeases(path: string, options: NativeOptions = {}): Promise<binding.UnknownLeases> {
  return call('inspect', path, (control) => binding.unknownLeases(path, control), options);
}

/** Grants each of those leases, in place; says how many there were. */
export function grantUnknownLeases(
  path: string,
  ttlSeconds: bigint,
  options: NativeOptions = {},
): Promise<binding.UnknownLeases> {
  const start = (control: binding.JobControl) => binding.grantUnknownLeases(path, ttlSeconds, control);
  return call('restore', path, start, options);
}

/** Compares the SHA-256 at the end of a plain snapshot; says what the file is when it is none. Progress in bytes. */
export function checkSnapshotFile(
  path: string,
  { allowMissingTrailer }: { readonly allowMissingTrailer: boolean },
  options: NativeOptions = {},
): Promise<binding.SnapshotFile> {
  return call(
    'verify',
    path,
    (control) => binding.checkSnapshotFile(path, allowMissingTrailer, control),
    options,
  );
}

/** "bbolt", or words that end a sentence "it is …". */
export function identifyFile(path: string, options: NativeOptions = {}): Promise<string> {
  return call('inspect', path, () => binding.identifyFile(path), options);
}
