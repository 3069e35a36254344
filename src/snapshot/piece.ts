/** The objects of a set as the planner weighs them: what each holds as far as known, and whether it may be used. */
import type { Manifest } from './manifest.js';
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
  /** The restore that it comes after: by its own manifest, or by that of an object which continues it. */
  readonly restoredFrom: Manifest['restoredFrom'];
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
  const all = [...pieces, ...namedByOthers(input.objects)];
  const restores = restoresOfContinued(input.objects);
  return all.map((piece) => ({ ...piece, restoredFrom: restoreOf(piece, restores) })).sort(byTime);
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
    ours: manifest !== undefined || isOurs(name),
    usable: !excluded.some((typed) => isMeant(typed, text)),
    restoredFrom: manifest?.restoredFrom,
  };
}

/** A lost object still tells that it was there, and when, through the manifests of those that came after it. */
function namedByOthers(objects: readonly StoredSnapshot[]): Piece[] {
  const known = new Set(objects.map((object) => object.name.text));
  const lost: Piece[] = [];
  for (const text of objects.flatMap(({ manifest }) => [
    manifest?.previous?.name,
    manifest?.restoredFrom?.base,
  ])) {
    if (text === undefined || known.has(text)) continue;
    known.add(text);
    const parsed = parseName(text);
    if (!parsed.ok) continue;
    const { name } = parsed;
    const unknown = { object: undefined, lastKnown: false, usable: false, restoredFrom: undefined };
    lost.push({ name, last: name.last, ours: isOurs(name), ...unknown });
  }
  return lost;
}

function isOurs({ codec, encrypted }: SnapshotName): boolean {
  return codec === 'ebd' || codec === 'zstd' || encrypted;
}

function restoresOfContinued(objects: readonly StoredSnapshot[]): Map<string, Manifest['restoredFrom']> {
  const restores = new Map<string, Manifest['restoredFrom']>();
  for (const { manifest } of objects) {
    if (manifest?.previous && manifest.restoredFrom)
      restores.set(manifest.previous.name, manifest.restoredFrom);
  }
  return restores;
}

/**
 * What is continued after a restore was itself written after it, if it ends above the restored revision or is from
 * later; else the restored state may continue it exactly.
 */
function restoreOf(
  { name, restoredFrom, object }: Piece,
  restores: ReadonlyMap<string, Manifest['restoredFrom']>,
): Manifest['restoredFrom'] {
  if (object?.manifest !== undefined) return restoredFrom;
  const after = restores.get(name.text);
  if (after === undefined) return undefined;
  const isLater = after.restoredAtMs !== undefined && name.createdSecs * 1000 >= after.restoredAtMs;
  return isLater || name.last > after.revision ? after : undefined;
}

function byTime(a: Piece, b: Piece): number {
  if (a.name.createdSecs !== b.name.createdSecs) return a.name.createdSecs - b.name.createdSecs;
  if (a.name.kind !== b.name.kind) return a.name.kind === 'full' ? -1 : 1;
  if (a.ours !== b.ours) return a.ours ? -1 : 1;
  if (a.last !== b.last) return compareRevisions(a.last, b.last);
  return a.name.text < b.name.text ? -1 : 1;
}
