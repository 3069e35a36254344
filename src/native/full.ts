/** Full snapshots: intake of the stream, unpacking. Mirrors crates/addon/src/full.rs. */
import * as binding from './binding.js';
import { call, callSync, type NativeOptions } from './call.js';

export type { TakenSnapshot, UnpackedFull } from './binding.js';

/** How a full can be packed when it is written, and when it is read. */
export type WriteCodec = 'none' | 'gzip' | 'zlib' | 'lzw' | 'zstd';
export type ReadCodec = WriteCodec;

/** Takes the messages of Maintenance.Snapshot in, off the JavaScript thread. */
export class SnapshotSink {
  readonly #sink: binding.SnapshotSink;

  /** Creates both files, which must not exist; the caller removes them. */
  constructor(
    private readonly rawPath: string,
    packedPath: string,
    codec: WriteCodec,
  ) {
    this.#sink = callSync('snapshot', rawPath, () => new binding.SnapshotSink(rawPath, packedPath, codec));
  }

  push(message: Uint8Array): 'more' | 'pause' | 'stop' {
    return this.#sink.push(message);
  }

  drained(): Promise<void> {
    return this.#sink.drained();
  }

  /** After the stream's end: proves that it is whole (length, trailer) and returns the digests. */
  finish(options: NativeOptions = {}): Promise<binding.TakenSnapshot> {
    return call('snapshot', this.rawPath, () => this.#sink.finish(), options);
  }

  abort(): Promise<void> {
    return this.#sink.abort();
  }
}

export interface UnpackRequest {
  readonly source: string;
  /** Must not exist; removed on failure. */
  readonly target: string;
  readonly codec: ReadCodec;
  /** Leave a good trailer out: the target is then the bare database. */
  readonly stripTrailer: boolean;
  readonly maxBytes: number;
}

/** How much of a packed full is there, while it is still being fetched. */
export class FileArrival {
  readonly binding = new binding.FileArrival();

  /** Of a file that is there. */
  static complete(): FileArrival {
    const arrival = new FileArrival();
    arrival.finish();
    return arrival;
  }

  /** So many bytes from the front may be read. */
  advance(bytes: number): void {
    this.binding.advance(bytes);
  }

  /** All of it is there. */
  finish(): void {
    this.binding.finish();
  }
}

/** Decompresses a packed full, as it arrives, into a new file, which is not synced; digests both sides. */
export function unpackFull(
  object: string,
  request: UnpackRequest,
  { arrival = FileArrival.complete(), ...options }: NativeOptions & { readonly arrival?: FileArrival } = {},
): Promise<binding.UnpackedFull> {
  const start = (control: binding.JobControl) => binding.unpackFull(request, arrival.binding, control);
  return call('unpack', object, start, options);
}

/** Unpacks a full while it arrives, off the JavaScript thread; what it came as is nowhere on disk. */
export class UnpackSink {
  readonly #sink: binding.UnpackSink;

  /** Creates the target, which must not exist; it is not synced, and removed on failure. */
  constructor(
    private readonly object: string,
    { target, codec, maxBytes }: Pick<UnpackRequest, 'target' | 'codec' | 'maxBytes'>,
  ) {
    this.#sink = callSync('unpack', object, () => new binding.UnpackSink(object, target, codec, maxBytes));
  }

  push(piece: Uint8Array): 'more' | 'pause' | 'stop' {
    return this.#sink.push(piece);
  }

  drained(): Promise<void> {
    return this.#sink.drained();
  }

  /** After the last byte: what it was, packed and plain. */
  finish(options: NativeOptions = {}): Promise<binding.UnpackedFull> {
    return call('unpack', this.object, () => this.#sink.finish(), options);
  }

  abort(): Promise<void> {
    return this.#sink.abort();
  }
}
