/** The objects of a set as the planner weighs them: what each holds as far as known, and whether it may be used. */
import { isMeant, parseName, type SnapshotName } from './name.js';
import type { PlanInput, PlanWarning, StoredSnapshot } from './plan.js';
import { compareRevisions } from './revision.js';

export interface Piece {
  readonly name: SnapshotName;
  /** Undefined for an object that is only named by another's manifest: evidence, nothing to read. */
  readonly object: StoredSnapshot | undefined;
  /** Last revision: the true one where it is known, else the name's. */
  readonly last: bigint;
  readonly lastKnown: boolean;
  /** Written by us, not by the Go tool: its time means something else, and its manifest may say more. */
  readonly ours: boolean;
  readonly usable: boolean;
}

export type UsablePiece = Piece & { readonly object: StoredSnapshot };

/** In the order of their times; of the same second fulls before deltas, and ours, whose times say more, first. */
export function collectPieces(input: PlanInput, warnings: PlanWarning[]): Piece[] {
  const typed = input.exclude ?? [];
  for (const exclude of typed) {
    if (!input.objects.some((object) => isMeant(exclude, object.name.text))) {
      warnings.push({ object: exclude, text: 'is excluded, but there is no such object' });
    }
  }
  const pieces = input.objects.map((object) => toPiece(object, input, typed, warnings));
  return [...pieces, ...namedByOthers(input.objects)].sort(byTime);
}

export function isUsable(piece: Piece): piece is UsablePiece {
  return piece.usable;
}

function toPiece(
  object: StoredSnapshot,
  input: PlanInput,
  excluded: readonly string[],
  warnings: PlanWarning[],
): Piece {
  const { name, manifest } = object;
  const text = name.text;
  const read = name.kind === 'full' ? input.baseRevisions?.get(text) : undefined;
  const stated = name.kind === 'full' ? manifest?.revision : name.last;
  const last = read ?? stated ?? name.last;
  if (last < name.last)
    warnings.push({ object: text, text: `holds revision ${last}, less than its name says` });
  if (read !== undefined && stated !== undefined && read !== stated) {
    warnings.push({ object: text, text: `holds revision ${read}, its manifest says ${stated}` });
  }
  if (manifest !== undefined && manifest.bytes !== object.bytes) {
    warnings.push({ object: text, text: `has ${object.bytes} bytes, its manifest says ${manifest.bytes}` });
  }
  return {
    name,
    object,
    last,
    lastKnown: read !== undefined || stated !== undefined,
    ours: manifest !== undefined || name.codec === 'ebd' || name.codec === 'zstd' || name.encrypted,
    usable: !excluded.some((typed) => isMeant(typed, text)),
  };
}

/** A lost object still tells that it was there, and when, through the manifest of its successor. */
function namedByOthers(objects: readonly StoredSnapshot[]): Piece[] {
  const known = new Set(objects.map((object) => object.name.text));
  const lost: Piece[] = [];
  for (const { manifest } of objects) {
    const text = manifest?.previous?.name;
    if (text === undefined || known.has(text)) continue;
    known.add(text);
    const parsed = parseName(text);
    if (!parsed.ok) continue;
    const { name } = parsed;
    lost.push({ name, object: undefined, last: name.last, lastKnown: false, ours: true, usable: false });
  }
  return lost;
}

function byTime(a: Piece, b: Piece): number {
  if (a.name.createdSecs !== b.name.createdSecs) return a.name.createdSecs - b.name.createdSecs;
  if (a.name.kind !== b.name.kind) return a.name.kind === 'full' ? -1 : 1;
  if (a.ours !== b.ours) return a.ours ? -1 : 1;
  if (a.last !== b.last) return compareRevisions(a.last, b.last);
  return a.name.text < b.name.text ? -1 : 1;
}
