/**
 * What the watch writes into: one delta after the other, cut by period, by bytes and by events, at complete
 * revisions only. A new delta is open before the old one is finished, so cutting never holds the watch up.
 */
import { rmSync } from 'node:fs';
import type { Pushed, WatchSink } from '../etcd/watch-sink.js';
import { type DeltaHeader, DeltaWriter } from '../native/index.js';

export interface CutLimits {
  readonly periodMs: number;
  /** Of events as received. */
  readonly bytes: number;
  readonly events: number;
}

/** One revision range that is complete; its file is still to be finished. */
export interface CutDelta {
  readonly writer: DeltaWriter;
  readonly firstRevision: bigint;
  readonly lastRevision: bigint;
  readonly cutAtMs: number;
}

export interface CaptureOptions {
  readonly startRevision: bigint;
  /** Name of the object that the first delta continues; empty when that is not stored yet. */
  readonly predecessor: string;
  readonly limits: CutLimits;
  readonly header: Omit<DeltaHeader, 'startRevision' | 'createdMs' | 'predecessorName'>;
  readonly pathFor: (startRevision: bigint) => string;
  /** The name that the delta is to have in the store. */
  readonly nameOf: (cut: CutDelta) => string;
  readonly onCut: (cut: CutDelta) => void;
  readonly onLeases: (ids: readonly bigint[]) => void;
  /** A delta that was due could not be cut; events are still taken in. */
  readonly onError: (error: unknown) => void;
  /** Whether the spool can take more, given the bytes of the open delta. */
  readonly hasRoom: (openBytes: number) => boolean;
}

export class Capture implements WatchSink {
  readonly #options: CaptureOptions;
  readonly #timer: NodeJS.Timeout;
  #writer: DeltaWriter;
  /** As received. */
  #openBytes = 0;
  #openEvents = 0;
  /** The period is over while a revision had arrived only in part. */
  #due = false;
  #full = false;
  #drained: (() => void)[] = [];

  constructor(options: CaptureOptions) {
    this.#options = options;
    this.#writer = this.#create(options.startRevision, options.predecessor);
    this.#timer = setInterval(() => this.#tick(), options.limits.periodMs);
  }

  onResponse(response: Buffer, nowMs: number): Pushed {
    const pushed = this.#writer.pushResponse(response, nowMs);
    if (pushed.newLeases.length > 0) this.#options.onLeases(pushed.newLeases);
    // Asked natively only where the answer is not in hand: this runs for every response.
    const complete = pushed.fragment ? null : pushed.lastRevision;
    const lastRevision = complete ?? this.lastRevision;
    if (pushed.events > 0) this.#count(response.length, pushed.events);
    this.#full = !this.#options.hasRoom(this.#openBytes);
    return { ...pushed, lastRevision };
  }

  dropPartial(): bigint {
    return this.#writer.dropPartial();
  }

  isFull(): boolean {
    return this.#full;
  }

  drained(): Promise<void> {
    return new Promise((resolve) => {
      this.#drained.push(resolve);
      this.roomChanged();
    });
  }

  /** To be called when the spool has become smaller. */
  roomChanged(): void {
    this.#full = !this.#options.hasRoom(this.#openBytes);
    if (this.#full) return;
    for (const resolve of this.#drained.splice(0)) resolve();
  }

  /** Last complete revision. */
  get lastRevision(): bigint {
    return this.#writer.resumeRevision() - 1n;
  }

  /** Closes the open delta if it holds complete revisions; one that arrived in part must have been dropped before. */
  cut(): void {
    const cut = this.#complete();
    if (cut === undefined) return;
    this.#writer = this.#create(cut.lastRevision + 1n, this.#options.nameOf(cut));
    this.#openBytes = 0;
    this.#openEvents = 0;
    this.#options.onCut(cut);
  }

  /** After the watch has ended, once: cuts what is complete. Returns the file instead when nothing is. */
  stop(): string | undefined {
    clearInterval(this.#timer);
    this.#writer.dropPartial();
    const cut = this.#complete();
    if (cut === undefined) return this.#writer.path;
    this.#options.onCut(cut);
    return undefined;
  }

  /** The open delta, unless it is empty or its last revision is there only in part. */
  #complete(): CutDelta | undefined {
    const { events, partial, firstRevision, lastRevision } = this.#writer.stats();
    this.#due = partial;
    if (events === 0 || partial || firstRevision === null || lastRevision === null) return undefined;
    return { writer: this.#writer, firstRevision, lastRevision, cutAtMs: Date.now() };
  }

  #tick(): void {
    try {
      this.cut();
    } catch (error) {
      this.#options.onError(error);
    }
  }

  #count(bytes: number, events: number): void {
    const { limits } = this.#options;
    this.#openBytes += bytes;
    this.#openEvents += events;
    if (this.#due || this.#openEvents >= limits.events || this.#openBytes >= limits.bytes) this.cut();
  }

  #create(startRevision: bigint, predecessorName: string): DeltaWriter {
    const { header, pathFor } = this.#options;
    const full = { ...header, startRevision, createdMs: Date.now(), predecessorName };
    const path = pathFor(startRevision);
    // Left by a session whose disk failed it: what sealed deltas hold ends before this start, so it is read again.
    rmSync(path, { force: true });
    return DeltaWriter.create(path, full, 'zstd');
  }
}
