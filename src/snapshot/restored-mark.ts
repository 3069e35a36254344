/**
 * `<data-dir>/etcdbr-restored.json`: a restore leaves it in the directory that it built. Backups of that etcd name it,
 * so that a later restore follows the new timeline instead of taking it for a fork (architecture, decision 6).
 *
 *   { "base": name of the full, "revision": "123", "restoredAtMs": 1700000000000, "id": random text }
 */
import * as v from 'valibot';

export const RESTORED_FILE = 'etcdbr-restored.json';

const schema = v.object({
  base: v.pipe(v.string(), v.nonEmpty()),
  revision: v.pipe(
    v.string(),
    v.regex(/^\d{1,19}$/),
    v.transform((text) => BigInt(text)),
  ),
  restoredAtMs: v.pipe(v.number(), v.safeInteger(), v.minValue(0)),
  id: v.pipe(v.string(), v.nonEmpty(), v.maxLength(128)),
});

export type RestoredMark = v.InferOutput<typeof schema>;

export function formatRestoredMark(mark: RestoredMark): string {
  return `${JSON.stringify({ ...mark, revision: mark.revision.toString() }, undefined, 2)}\n`;
}

/** Throws for anything but a mark. */
export function parseRestoredMark(text: string): RestoredMark {
  return v.parse(schema, JSON.parse(text));
}
