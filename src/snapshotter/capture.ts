/**
 * What the watch writes into: one delta after the other, cut by period, by bytes and by events, at complete
 * revisions only. A new delta is open before the old one is finished, so cutting never holds the watch up.
 */
import { rmSync } from 'node:fs';
import { isBackupError } from '../errors.js';
import type { Pushed, WatchSink } from '../etcd/watch-sink.js';
import { type DeltaHeader, DeltaWriter } from '../native/index.js';

export interface CutLimits {
  readonly periodMs: number;
  /** Of events, uncompressed. */
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
  #openBytes = 0;
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
    const lastRevision = this.#writer.resumeRevision() - 1n;
    if (pushed.events > 0) this.#cutAtLimits();
    this.#full = !this.#options.hasRoom(this.#openBytes);
    return { ...pushed, firstRevision: pushed.firstRevision ?? null, lastRevision };
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
    const { events, partial, firstRevision, lastRevision } = this.#writer.stats();
    this.#due = partial;
    if (events === 0 || partial || firstRevision == null || lastRevision == null) return;
    const cut = { writer: this.#writer, firstRevision, lastRevision, cutAtMs: Date.now() };
    this.#writer = this.#create(lastRevision + 1n, this.#options.nameOf(cut));
    this.#openBytes = 0;
    this.#options.onCut(cut);
  }

  /** Of the open delta; after `stop` nothing is in it. */
  get openPath(): string {
    return this.#writer.path;
  }

  /** After the watch has ended: cuts what is complete. Nothing may arrive any more. */
  stop(): void {
    clearInterval(this.#timer);
    this.#writer.dropPartial();
    this.cut();
  }

  #tick(): void {
    try {
      this.cut();
    } catch (error) {
      this.#options.onError(error);
    }
  }

  #cutAtLimits(): void {
    const { events, eventBytes, bytes } = this.#writer.stats();
    const { limits } = this.#options;
    this.#openBytes = bytes;
    if (this.#due || events >= limits.events || eventBytes >= limits.bytes) this.cut();
  }

  #create(startRevision: bigint, predecessorName: string): DeltaWriter {
    const { header, pathFor } = this.#options;
    const full = { ...header, startRevision, createdMs: Date.now(), predecessorName };
    const path = pathFor(startRevision);
    try {
      return DeltaWriter.create(path, full, 'zstd');
    } catch (error) {
      // What was begun of it would be in the way of the next try.
      if (!isBackupError(error, 'EXISTS')) rmSync(path, { force: true });
      throw error;
    }
  }
}
