/**
 * Divides a set into timelines. Revisions are counted anew after an etcd was put back to an older state, so two
 * timelines may hold the same numbers with different contents (hazard 44).
 *
 * A new timeline begins with an object that
 *   - names the restore that it comes from ("restore": declared, and followed), or
 *   - says that it found another record than an earlier object's last one ("undeclared", beyond doubt), or
 *   - ends at the same revision as an earlier object, with another record in its manifest (the same), or
 *   - is a full taken later, by more than a skew, at a lower revision than an object before it. That is a suspicion,
 *     which content can settle.
 * An object whose manifest names the one that it continues is of that one's timeline, whatever the times say.
 */
import { recordIdentity } from './manifest.js';
import type { Piece } from './piece.js';
import { lower } from './revision.js';
import { Watermark } from './watermark.js';

/** Clocks of two hosts. The time in the name of our full is that of its first byte. */
export const NARROW_SKEW_SECS = 10;
/**
 * The Go tool names a full when its stream has ended, by the revision from before it began; its own bound on that
 * is `--etcd-snapshot-timeout`, 15 minutes.
 */
export const WIDE_SKEW_SECS = 900;

export interface Timeline {
  readonly first: Piece;
  readonly begins: 'oldest' | 'restore' | 'undeclared';
  /** The timeline that this one was split from. */
  readonly parent: Timeline | undefined;
  /** Declared: up to this revision both are the same. */
  readonly sharedUpTo: bigint | undefined;
  /** Undeclared: content may still show that both are one. */
  readonly settled: boolean;
  readonly pieces: Piece[];
  /** Pieces of the parent from just before this one began, which may belong to either. */
  readonly unsure: Piece[];
}

/** `pieces` in the order of their times. */
export function splitTimelines(pieces: readonly Piece[]): Timeline[] {
  const splitter = new Splitter();
  for (const piece of pieces) splitter.place(piece);
  return splitter.timelines;
}

/** How much later than an object a lower full must be before that is strange. */
export function skewSecs(full: Piece): number {
  return full.ours ? NARROW_SKEW_SECS : WIDE_SKEW_SECS;
}

class Splitter {
  readonly timelines: Timeline[] = [];
  readonly #timelineOf = new Map<string, Timeline>();
  readonly #declared = new Map<string, Timeline>();
  readonly #diverged = new Map<string, Timeline>();
  readonly #watermarks = new Map<Timeline, Watermark>();
  readonly #records = new Map<Timeline, Map<bigint, string>>();
  #current: Timeline | undefined;

  place(piece: Piece): void {
    const timeline =
      this.#restored(piece) ?? this.#continued(piece) ?? this.#splitOff(piece) ?? this.#ongoing(piece);
    timeline.pieces.push(piece);
    this.#current = timeline;
    this.#timelineOf.set(piece.name.text, timeline);
    this.#watermarks.get(timeline)?.add(piece.name.createdSecs, piece.last);
    const record = recordIdentity(piece.object?.manifest?.lastRecord);
    if (record !== undefined) this.#records.get(timeline)?.set(piece.last, record);
  }

  #restored(piece: Piece): Timeline | undefined {
    const from = piece.restoredFrom;
    if (from === undefined) return undefined;
    const restore = `${from.base} ${from.revision} ${from.restoredAtMs ?? ''}`;
    const known = this.#declared.get(restore);
    if (known !== undefined) return known;
    const parent = this.#timelineOf.get(from.base);
    // Restored from elsewhere: what was there before is superseded, and nothing of it can be relied on.
    const sharedUpTo = parent === undefined ? 0n : from.revision;
    const timeline = this.#begin(piece, 'restore', parent ?? this.#current, { sharedUpTo, settled: true });
    this.#declared.set(restore, timeline);
    return timeline;
  }

  #continued(piece: Piece): Timeline | undefined {
    const previous = piece.object?.manifest?.previous;
    return previous === undefined ? undefined : this.#timelineOf.get(previous.name);
  }

  #splitOff(piece: Piece): Timeline | undefined {
    const from = piece.object?.manifest?.divergedFrom;
    if (from !== undefined) return this.#diverge(piece, from);
    const current = this.#current;
    if (current === undefined) return undefined;
    const record = recordIdentity(piece.object?.manifest?.lastRecord);
    const other = this.#records.get(current)?.get(piece.last);
    if (record !== undefined && other !== undefined && other !== record) {
      return this.#begin(piece, 'undeclared', current, { settled: true });
    }
    if (piece.name.kind !== 'full') return undefined;
    const strangeBefore = piece.name.createdSecs - skewSecs(piece);
    const reached = this.#watermarks.get(current)?.before(strangeBefore);
    if (reached === undefined || reached <= piece.last) return undefined;
    const unsure = unsurePieces(current, strangeBefore);
    return this.#begin(piece, 'undeclared', current, { settled: false, unsure });
  }

  /** Two writers may find the same divergence: the second one's objects belong to the first one's timeline. */
  #diverge(piece: Piece, from: string): Timeline {
    const known = this.#diverged.get(from);
    if (known !== undefined) return known;
    const parent = this.#timelineOf.get(from) ?? this.#current;
    const timeline = this.#begin(piece, 'undeclared', parent, { settled: true });
    this.#diverged.set(from, timeline);
    return timeline;
  }

  #ongoing(piece: Piece): Timeline {
    return this.#current ?? this.#begin(piece, 'oldest', undefined, { settled: true });
  }

  #begin(
    first: Piece,
    begins: Timeline['begins'],
    parent: Timeline | undefined,
    rest: { settled: boolean; sharedUpTo?: bigint; unsure?: Piece[] },
  ): Timeline {
    const { settled, sharedUpTo, unsure = [] } = rest;
    const timeline: Timeline = { first, begins, parent, sharedUpTo, settled, unsure, pieces: [] };
    this.timelines.push(timeline);
    this.#watermarks.set(timeline, new Watermark());
    this.#records.set(timeline, new Map());
    return timeline;
  }
}

/**
 * Every writer begins with a full. So a delta from within the skew is of the new timeline only if a full from within
 * it, and from before the delta, can be what its writer began with; and only such fulls are unsure themselves. (Our
 * deltas may begin below the full, the Go tool's begin right above it.)
 */
function unsurePieces(parent: Timeline, fromSecs: number): Piece[] {
  const unsure = new Map<string, Piece>();
  let lowestFull: bigint | undefined;
  let at = parent.pieces.length;
  while (at > 0 && (parent.pieces[at - 1]?.name.createdSecs ?? 0) >= fromSecs) at -= 1;
  for (const piece of parent.pieces.slice(at)) {
    const { kind, start, last, text } = piece.name;
    const previous = piece.object?.manifest?.previous;
    const mayBeNew =
      previous !== undefined
        ? unsure.has(previous.name)
        : kind === 'full' || (lowestFull !== undefined && (piece.ours || lowestFull < start));
    if (!mayBeNew) continue;
    unsure.set(text, piece);
    if (kind === 'full') lowestFull = lower(last, lowestFull ?? last);
  }
  return [...unsure.values()];
}
