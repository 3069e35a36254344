/**
 * The manifest of an object, `v2/manifest/<name>.json`: what its writer knew and a name cannot say. It helps, and
 * is never needed: any object can be read, and any set restored, without one. 64-bit numbers are strings in JSON.
 * A reader passes over fields that it does not know and refuses another version.
 */
import * as v from 'valibot';
import { BackupError } from '../errors.js';

export const MANIFEST_VERSION = 1;
/** A manifest has a few hundred bytes; keys are at most a few KiB. More is not one of ours. */
export const MAX_MANIFEST_BYTES = 4 * 1024 * 1024;

const bigintText = v.pipe(
  v.string(),
  v.regex(/^-?\d{1,20}$/, 'expected a whole number in a string'),
  v.transform((text) => BigInt(text)),
);
const sha256 = v.pipe(v.string(), v.regex(/^[0-9a-f]{64}$/, 'expected 64 lower-case hex digits'));
const count = v.pipe(v.number(), v.safeInteger(), v.minValue(0));
const timeMs = count;

/** The identity of one event or record; two histories that hold the same at a revision are taken for one. */
const lastRecord = v.object({
  keyBase64: v.string(),
  modRevision: bigintText,
  tombstone: v.boolean(),
  /** Of the record that etcd stores: a canonical mvccpb.KeyValue, `{key}` alone for a tombstone. */
  sha256,
});

const schema = v.object({
  version: v.literal(MANIFEST_VERSION),
  name: v.string(),
  /** A full: the db's own revision, which may be above the one in the name. A delta: its last revision. */
  revision: bigintText,
  compactRevision: v.optional(bigintText),
  /** Of the object as it lies in the store. */
  bytes: count,
  sha256,
  /** Length of the plain snapshot with its trailer, digest of the db without it; or both of the uncompressed delta. */
  plain: v.optional(v.object({ bytes: count, sha256 })),
  /** As etcd reports it; it gives a compact revision of -1 for a db that was never compacted. */
  hashKv: v.optional(
    v.object({
      hash: v.pipe(count, v.maxValue(0xffff_ffff)),
      revision: bigintText,
      compactRevision: bigintText,
    }),
  ),
  serverVersion: v.optional(v.string()),
  clusterId: v.optional(bigintText),
  memberId: v.optional(bigintText),
  openedAtMs: v.optional(timeMs),
  endedAtMs: v.optional(timeMs),
  events: v.optional(count),
  lastRecord: v.optional(lastRecord),
  /** The restore that this timeline begins with; every object of the timeline names it. */
  restoredFrom: v.optional(
    v.object({ base: v.string(), revision: bigintText, restoredAtMs: v.optional(timeMs) }),
  ),
  /** The writer looked for the last record of this object in its etcd and found another one: a new timeline. */
  divergedFrom: v.optional(v.string()),
  /** The object that this one continues, where the writer knows that both are of one history. */
  previous: v.optional(v.object({ name: v.string(), sha256: v.optional(sha256) })),
});

export type Manifest = v.InferOutput<typeof schema>;
export type LastRecord = v.InferOutput<typeof lastRecord>;

/** Reads a manifest's bytes; `name` is that of the object it was looked up for. */
export function parseManifest(name: string, bytes: Uint8Array): Manifest {
  if (bytes.byteLength > MAX_MANIFEST_BYTES) throw fault(name, `has more than ${MAX_MANIFEST_BYTES} bytes`);
  const json = parseJson(name, bytes);
  const version = (json as { version?: unknown } | null)?.version;
  if (version !== MANIFEST_VERSION) {
    throw new BackupError(
      'UNSUPPORTED',
      `has version ${JSON.stringify(version)}, known is ${MANIFEST_VERSION}`,
      {
        op: 'read manifest',
        object: name,
        hint: 'use a newer version of this program; the backup itself can be restored without its manifest',
      },
    );
  }
  const result = v.safeParse(schema, json);
  if (!result.success) {
    const issue = result.issues[0];
    throw fault(name, `${v.getDotPath(issue) ?? 'it'}: ${issue.message}`);
  }
  if (result.output.name !== name) throw fault(name, `is that of ${result.output.name}`);
  return result.output;
}

/** The text to be stored. The same manifest gives the same bytes, so writing it twice is no conflict. */
export function formatManifest(manifest: Omit<Manifest, 'version'>): string {
  const given: Record<string, unknown> = { ...manifest, version: MANIFEST_VERSION };
  const ordered = Object.fromEntries(Object.keys(schema.entries).map((field) => [field, given[field]]));
  return `${JSON.stringify(ordered, (_, value) => (typeof value === 'bigint' ? value.toString() : value), 2)}\n`;
}

/** Equal only for the same record; undefined where there is none to compare. */
export function recordIdentity(record: LastRecord | undefined): string | undefined {
  if (record === undefined) return undefined;
  return [record.modRevision, record.tombstone, record.keyBase64, record.sha256].join(' ');
}

function parseJson(name: string, bytes: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch (cause) {
    throw fault(name, 'is not JSON', cause);
  }
}

function fault(name: string, what: string, cause?: unknown): BackupError {
  return new BackupError('CORRUPT', what, {
    op: 'read manifest',
    object: name,
    hint: 'the backup itself can be restored without its manifest',
    cause,
  });
}
