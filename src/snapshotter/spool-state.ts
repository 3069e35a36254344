/** The text of `spool.json`. A state that cannot be read is none: the store is then asked instead. */
import * as v from 'valibot';
import type { ChainEnd } from './full.js';

export interface SpoolState {
  readonly lineage: number;
  /** Last object stored. */
  readonly tip: ChainEnd | undefined;
}

export interface StoredSpoolState extends SpoolState {
  /** Location of the store that the spool belongs to. */
  readonly store: string;
}

const VERSION = 1;

const revision = v.pipe(
  v.string(),
  v.regex(/^\d{1,19}$/),
  v.transform((text) => BigInt(text)),
);

const schema = v.object({
  version: v.literal(VERSION),
  store: v.string(),
  lineage: v.pipe(v.number(), v.safeInteger(), v.minValue(0)),
  tip: v.optional(
    v.object({
      name: v.string(),
      sha256: v.optional(v.string()),
      revision,
      record: v.optional(
        v.object({
          keyBase64: v.string(),
          modRevision: revision,
          tombstone: v.boolean(),
          sha256: v.string(),
        }),
      ),
    }),
  ),
});

export function parseSpoolState(text: string): StoredSpoolState | undefined {
  try {
    const { store, lineage, tip } = v.parse(schema, JSON.parse(text));
    return { store, lineage, tip: tip && { ...tip, record: tip.record, sha256: tip.sha256 } };
  } catch {
    return undefined;
  }
}

export function formatSpoolState(state: StoredSpoolState): string {
  const plain = (_: string, value: unknown) => (typeof value === 'bigint' ? value.toString() : value);
  return `${JSON.stringify({ version: VERSION, ...state }, plain, 2)}\n`;
}
