/**
 * What is remembered of an object that was found sound, as one line of text, and when it may stand in for reading the
 * object again. Only sound objects are remembered: what is damaged is read each time, for it may have been repaired.
 *
 *   line = first 8 hex digits of the SHA-256 of the rest " " JSON
 *
 * The first line says what the others are about. A line that is damaged, or cut short by a kill, is passed over.
 */
import { createHash } from 'node:crypto';
import * as v from 'valibot';
import { formatManifest, type Manifest } from '../snapshot/manifest.js';
import type { StoredSnapshot } from '../snapshot/plan.js';

/** Raised when a check is added: what was remembered before it says nothing about it. */
const CHECKS = 1;
const CHECKSUM_DIGITS = 8;

const revision = v.pipe(
  v.string(),
  v.regex(/^\d{1,19}$/),
  v.transform((text) => BigInt(text)),
);
const count = v.pipe(v.number(), v.safeInteger(), v.minValue(0));
const sha256 = v.pipe(v.string(), v.regex(/^[0-9a-f]{64}$/));

const header = v.object({ kind: v.literal('header'), checks: v.literal(CHECKS), location: v.string() });

const object = v.object({
  kind: v.literal('object'),
  object: v.string(),
  key: v.string(),
  bytes: count,
  modifiedMs: v.number(),
  sha256,
  /** Digest of the manifest that it was held against; absent when it had none. */
  manifest: v.optional(sha256),
  revision,
  records: count,
  predecessor: v.optional(v.object({ name: v.string(), sha256: v.optional(sha256) })),
  checkedAtMs: count,
});

/** Two fulls and what lies between them, by a digest over all their names and digests. */
const deep = v.object({
  kind: v.literal('deep'),
  id: sha256,
  /** The later full: forgotten with it. */
  object: v.string(),
  checkedAtMs: count,
});

const line = v.variant('kind', [header, object, deep]);

export type RememberedObject = v.InferOutput<typeof object>;
export type RememberedDeep = v.InferOutput<typeof deep>;
export type Remembered = RememberedObject | RememberedDeep;

export function headerLine(location: string): string {
  return toLine({ kind: 'header', checks: CHECKS, location });
}

export function toLine(entry: object): string {
  const json = JSON.stringify(entry, (_, value) => (typeof value === 'bigint' ? value.toString() : value));
  return `${checksum(json)} ${json}\n`;
}

export interface ParsedLines {
  readonly entries: readonly Remembered[];
  /** Damaged ones. */
  readonly passedOver: number;
}

/** Nothing when the text is about another store or from other checks. */
export function parseLines(text: string, location: string): ParsedLines {
  const lines = text.split('\n').filter((one) => one !== '');
  const [first, ...rest] = lines.map(parseLine);
  if (first?.kind !== 'header' || first.location !== location)
    return { entries: [], passedOver: lines.length };
  const entries = rest.filter((entry) => entry !== undefined && entry.kind !== 'header');
  return { entries, passedOver: rest.length - entries.length };
}

function parseLine(text: string): v.InferOutput<typeof line> | undefined {
  const json = text.slice(CHECKSUM_DIGITS + 1);
  if (text.slice(0, CHECKSUM_DIGITS) !== checksum(json)) return undefined;
  try {
    return v.parse(line, JSON.parse(json));
  } catch {
    return undefined;
  }
}

/**
 * An object is the one that was read when its key, length, time and, as far as there is one, manifest are the same.
 * A change in place shows in length or time; what changes without either is found by reading again now and then, so
 * an entry counts for `maxAgeMs` only. A manifest that is gone, or is not read for there are too many, tells nothing
 * against it.
 */
export function isSame(
  entry: RememberedObject,
  { key, bytes, modifiedMs, manifest }: StoredSnapshot,
  { nowMs, maxAgeMs }: { readonly nowMs: number; readonly maxAgeMs: number },
): boolean {
  if (entry.key !== key || entry.bytes !== bytes || entry.modifiedMs !== modifiedMs) return false;
  const ageMs = nowMs - entry.checkedAtMs;
  if (ageMs < 0 || ageMs > maxAgeMs) return false;
  return (
    manifest === undefined || (manifest.sha256 === entry.sha256 && digestOf(manifest) === entry.manifest)
  );
}

export function digestOf(manifest: Manifest): string {
  return sha256Of(formatManifest(manifest));
}

export function sha256Of(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

function checksum(json: string): string {
  return sha256Of(json).slice(0, CHECKSUM_DIGITS);
}
