/** A sink in plain TypeScript that decodes and keeps everything, by the rules that the native writer follows. */
import protobuf from 'protobufjs';
import { BackupError } from '../../src/errors.js';
import type { Pushed, WatchSink } from '../../src/etcd/watch-sink.js';

export interface SeenEvent {
  readonly type: 'PUT' | 'DELETE';
  readonly key: string;
  readonly valueBytes: number;
  readonly revision: bigint;
  readonly lease: bigint;
}

const { root } = protobuf.parse(
  `
  syntax = "proto3";
  message Header { uint64 cluster_id = 1; uint64 member_id = 2; int64 revision = 3; }
  message KeyValue { bytes key = 1; int64 create_revision = 2; int64 mod_revision = 3; int64 version = 4; bytes value = 5; int64 lease = 6; }
  message Event { int32 type = 1; KeyValue kv = 2; }
  message WatchResponse {
    Header header = 1; int64 watch_id = 2; bool created = 3; bool canceled = 4; int64 compact_revision = 5;
    string cancel_reason = 6; bool fragment = 7; repeated Event events = 11;
  }`,
  { keepCase: true },
);
export const WatchResponse = root.lookupType('WatchResponse');
const BIT_EXACT = { longs: String, defaults: true, arrays: true, objects: true } as const;

interface Decoded {
  header: { revision: string; cluster_id: string } | null;
  created: boolean;
  canceled: boolean;
  compact_revision: string;
  cancel_reason: string;
  fragment: boolean;
  events: { type: number; kv: { key: Uint8Array; value: Uint8Array; mod_revision: string; lease: string } }[];
}

export class CollectingSink implements WatchSink {
  /** Of complete revisions only. */
  readonly events: SeenEvent[] = [];
  /** Responses as they came: their sizes, and whether they were pieces. */
  readonly responses: { bytes: number; fragment: boolean; events: number; headerRevision: bigint }[] = [];
  dropped = 0;
  full = false;
  #partial: SeenEvent[] = [];
  #next: bigint;
  #drain: (() => void) | undefined;

  constructor(startRevision: bigint) {
    this.#next = startRevision;
  }

  onResponse(response: Buffer): Pushed {
    const decoded = WatchResponse.toObject(WatchResponse.decode(response), BIT_EXACT) as Decoded;
    const headerRevision = BigInt(decoded.header?.revision ?? 0);
    const { fragment } = decoded;
    this.responses.push({ bytes: response.length, fragment, events: decoded.events.length, headerRevision });
    for (const event of decoded.events) this.#take(event);
    if (!fragment) this.#complete();
    const first = decoded.events[0];
    const last = decoded.events.at(-1);
    return {
      created: decoded.created,
      canceled: decoded.canceled,
      compactRevision: BigInt(decoded.compact_revision),
      cancelReason: decoded.cancel_reason,
      headerRevision,
      clusterId: BigInt(decoded.header?.cluster_id ?? 0),
      fragment,
      events: decoded.events.length,
      firstRevision: first === undefined ? null : BigInt(first.kv.mod_revision),
      lastRevision: last === undefined ? null : BigInt(last.kv.mod_revision),
    };
  }

  dropPartial(): bigint {
    this.dropped += this.#partial.length;
    this.#partial = [];
    return this.#next;
  }

  isFull(): boolean {
    return this.full;
  }

  drained(): Promise<void> {
    return new Promise((resolve) => {
      this.#drain = resolve;
    });
  }

  release(): void {
    this.full = false;
    this.#drain?.();
  }

  get lastRevision(): bigint {
    return this.#next - 1n;
  }

  #take(event: Decoded['events'][number]): void {
    const revision = BigInt(event.kv.mod_revision);
    const open = this.#partial.at(-1)?.revision;
    if (open !== undefined && open !== revision) this.#complete();
    if (revision !== this.#next) {
      throw new BackupError('REVISION_GAP', `revision ${revision} came, expected ${this.#next}`, {
        op: 'watch',
      });
    }
    this.#partial.push({
      type: event.type === 0 ? 'PUT' : 'DELETE',
      key: Buffer.from(event.kv.key).toString('latin1'),
      valueBytes: event.kv.value.length,
      revision,
      lease: BigInt(event.kv.lease),
    });
  }

  /** A revision is whole when the next begins, or a response that is not a piece ends. */
  #complete(): void {
    const last = this.#partial.at(-1);
    if (last === undefined) return;
    this.events.push(...this.#partial);
    this.#partial = [];
    this.#next = last.revision + 1n;
  }
}
