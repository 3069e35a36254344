/**
 * What content has to show before two timelines are taken for one. It is not enough that the full which looked
 * strange stands in the other timeline: it may have been taken right where the two part. So both are cut into
 * islands, objects that continue each other without a hole, and of any two islands that could be joined, and of the
 * two highest ones in any case, the lower end must stand in the other island.
 */
import { isUsable, type Piece, type UsablePiece } from './piece.js';
import type { ContentQuestion } from './plan.js';
import { compareRevisions, higher } from './revision.js';

/** More are not worth reading: the reader chooses a timeline instead. */
export const MAX_QUESTIONS = 16;

/** All must be answered with "stands". Undefined where no object could tell. */
export function questionsBetween(
  older: readonly Piece[],
  newer: readonly Piece[],
): ContentQuestion[] | undefined {
  const [ofOlder, ofNewer] = [older, newer].map(toIslands);
  const pairs = ofOlder === undefined || ofNewer === undefined ? [] : pairsToCompare(ofOlder, ofNewer);
  if (pairs.length === 0 || pairs.length > MAX_QUESTIONS) return undefined;
  const questions: ContentQuestion[] = [];
  for (const [a, b] of pairs) {
    const question = questionOf(a, b);
    if (question === undefined) return undefined;
    questions.push(question);
  }
  return questions;
}

/** Positions from which, or to which, its objects lead: a full stands at its last, a delta leads from start - 1. */
interface Island {
  readonly from: bigint;
  to: bigint;
  readonly pieces: UsablePiece[];
}

function toIslands(pieces: readonly Piece[]): Island[] {
  const islands: Island[] = [];
  for (const piece of pieces.filter(isUsable).sort((a, b) => compareRevisions(entry(a), entry(b)))) {
    const island = islands.at(-1);
    if (island !== undefined && entry(piece) <= island.to) {
      island.to = higher(island.to, piece.last);
      island.pieces.push(piece);
    } else {
      islands.push({ from: entry(piece), to: piece.last, pieces: [piece] });
    }
  }
  return islands;
}

function entry({ name, last }: UsablePiece): bigint {
  return name.kind === 'full' ? last : name.start - 1n;
}

function pairsToCompare(a: readonly Island[], b: readonly Island[]): [Island, Island][] {
  const [topA, topB] = [a.at(-1), b.at(-1)];
  if (topA === undefined || topB === undefined) return [];
  const pairs: [Island, Island][] = [[topA, topB]];
  for (let atA = 0, atB = 0; ; ) {
    const [left, right] = [a[atA], b[atB]];
    if (left === undefined || right === undefined || pairs.length > MAX_QUESTIONS) return pairs;
    const touch = left.from <= right.to && right.from <= left.to;
    if (touch && (left !== topA || right !== topB)) pairs.push([left, right]);
    if (left.to < right.to) atA += 1;
    else atB += 1;
  }
}

function questionOf(a: Island, b: Island): ContentQuestion | undefined {
  const [low, high] = a.to <= b.to ? [a, b] : [b, a];
  const end = endOf(low);
  const holder = holderOf(low.to, high);
  return end === undefined || holder === undefined ? undefined : { lower: end.object, higher: holder.object };
}

/** Where several objects end there, a delta, whose end is cheap to read. */
function endOf(island: Island): UsablePiece | undefined {
  return cheapest(island.pieces.filter(({ last }) => last === island.to));
}

/** Where a revision can be looked up: in a small delta rather than a large one, in a full only if there is none. */
function holderOf(revision: bigint, island: Island): UsablePiece | undefined {
  return cheapest(
    island.pieces.filter(
      ({ name, last }) => last >= revision && (name.kind === 'full' || name.start <= revision),
    ),
  );
}

function cheapest(pieces: readonly UsablePiece[]): UsablePiece | undefined {
  let found: UsablePiece | undefined;
  for (const piece of pieces) if (found === undefined || isCheaper(piece, found)) found = piece;
  return found;
}

function isCheaper(a: UsablePiece, b: UsablePiece): boolean {
  if (a.name.kind !== b.name.kind) return a.name.kind === 'delta';
  return a.object.bytes < b.object.bytes;
}
