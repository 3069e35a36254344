/** What the native delta writer looks like to the watch: it alone decodes what comes off the wire. */

/** What one WatchResponse was. Revisions are main revisions of events, except `headerRevision`. */
export interface Pushed {
  readonly created: boolean;
  readonly canceled: boolean;
  /** 0 unless etcd ended the watch because its history no longer reaches back. */
  readonly compactRevision: bigint;
  readonly cancelReason: string;
  /** The store's revision when the response was made. Never a position to resume at. */
  readonly headerRevision: bigint;
  readonly clusterId: bigint;
  /** More pieces of this response follow. */
  readonly fragment: boolean;
  readonly events: number;
  /** Of the first event in the response; null without events. */
  readonly firstRevision: bigint | null;
  /** Of the last event in the response; null without events. Complete unless `fragment`: the next piece may go on with it. */
  readonly lastRevision: bigint | null;
}

export interface WatchSink {
  /** Takes one response. Throws a `BackupError` when its events do not continue what came before: the watch then ends. */
  onResponse(response: Buffer, nowMs: number): Pushed;
  /** After a broken stream: forgets a revision that arrived in part, and returns the revision to resume at. */
  dropPartial(): bigint;
  /** Whether the sink wants no more for now; the stream is then left unread until `drained`. */
  isFull(): boolean;
  drained(): Promise<void>;
}
