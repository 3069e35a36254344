/**
 * The contract of an object store. Every provider and every decorator implements `Store`, and
 * `test/store/conformance.ts` holds all of them to the words below; callers may rely on nothing else.
 *
 * Keys      Path elements joined by "/", relative to the store's root (see `key.ts` for what is refused). The root
 *           is <container>/<prefix>: rooms above see `v2/Full-…`, never the user's prefix (`layout.ts`).
 *           A key must not be both an object and the parent of other keys. Elements that begin with "." belong
 *           to the store: they are refused as keys and never listed.
 * Content   An object never changes once it is there, and is there only when it is whole: a put that was killed,
 *           aborted or failed leaves nothing visible. What it may leave behind is removed by `cleanUp`.
 * Errors    Always `BackupError` with the object's full name and a hint:
 *             NOT_FOUND            no such object; nothing else looks like this
 *             EXISTS               put: an object of that name has other content
 *             UNAVAILABLE TIMEOUT  may be retried, whatever the operation (the decorator in `retry.ts` does)
 *             NO_SPACE READ_ONLY PERMISSION UNSUPPORTED USAGE IO   stay until somebody acts; not retried
 *             CHECKSUM             putFile: the file does not have the stated digest
 *             TRUNCATED            putFile: the file does not have the stated size
 *             CANCELLED            the caller's signal; its reason is the cause, or is itself thrown if a BackupError
 * Retry     Every operation may be repeated after any error: puts because equal content is success and their
 *           source can be read again, deletes because they are idempotent.
 * Abort     Every operation ends promptly (CANCELLED) once its signal is aborted, and leaves no file
 *           descriptor, connection or partial object behind. Leaving a `for await` early does the same.
 */
export interface Store {
  /** Where this is, for people: "Local /backups/team". Never holds a credential. */
  readonly location: string;

  /**
   * All objects below the directory `prefix`, ascending by the bytes of their keys. `prefix` is whole path
   * elements ("etcd-main" never matches "etcd-main-2/…"); "" means everything. Pages are fetched as they are
   * consumed, in memory that does not grow with their number. An object put or deleted meanwhile may or may not
   * appear; every other one appears exactly once. A root that does not exist yet holds nothing.
   */
  list(prefix: string, options?: ListOptions): AsyncIterable<StoredObject>;

  /** Size, time and, where the store keeps it, the digest of one object. NOT_FOUND when there is none. */
  head(key: string, options?: StoreOptions): Promise<ObjectHead>;

  /**
   * The object's bytes, or those of a range. Nothing is opened before the first `next()`, which is also where
   * NOT_FOUND appears; no more is read than is consumed, but for one chunk. Iterable once. Chunks hold 1 byte to
   * `MAX_CHUNK_BYTES` and belong to the caller (but see `reuseBuffer`). The iteration ends without an error only after the last byte of
   * the range, so a connection that breaks early is UNAVAILABLE, never a short object.
   */
  get(key: string, options?: GetOptions): AsyncIterable<Uint8Array>;

  /**
   * Publishes the file at `path` under `key`, durably, at once and whole. Never replaces: where the object is
   * already there with the same content this is success (`existed`), with other content EXISTS. Of several
   * concurrent puts of one key exactly one content wins. Large files go in parts where the provider has them;
   * a part is retried by itself, an upload of a process that is gone is not continued but cleaned up.
   */
  putFile(key: string, path: string, options: PutFileOptions): Promise<PutResult>;

  /** As `putFile`, for small content that is in memory (manifests), at most `MAX_PUT_BYTES`. */
  putBytes(key: string, content: Uint8Array, options?: StoreOptions): Promise<PutResult>;

  /** Removes the object. Success when there is none. */
  delete(key: string, options?: StoreOptions): Promise<void>;

  /**
   * Removes what interrupted puts have left below the directory `prefix` (hidden files, parts of uploads), only
   * that which this product wrote and whose writer is known to be gone or silent for long. Objects are never
   * touched. For writers at their start; read-only commands do not call it.
   */
  cleanUp(prefix: string, options?: StoreOptions): Promise<CleanUpResult>;
}

/** Upper bound of one chunk of `get`. */
export const MAX_CHUNK_BYTES = 1024 * 1024;

/** Upper bound of `putBytes`: what is larger belongs into a file. */
export const MAX_PUT_BYTES = 8 * 1024 * 1024;

export interface StoreOptions {
  readonly signal?: AbortSignal | undefined;
}

export interface ListOptions extends StoreOptions {
  /** Only keys that come after this one (whole key, prefix included). */
  readonly after?: string | undefined;
  /** Told of every name that cannot be an object (hazard 34): odd bytes, links that lead out, unreadable. */
  readonly onSkipped?: ((name: string, why: string) => void) | undefined;
}

export interface GetOptions extends StoreOptions {
  readonly range?: ByteRange | undefined;
  /**
   * The caller is done with each chunk before it asks for the next, so the store may use its memory again. For who
   * hashes or writes to a file: gigabytes then cost one buffer, and not what the collector has not got to yet.
   */
  readonly reuseBuffer?: boolean | undefined;
}

/**
 * From `offset` on, `bytes` long or to the end. A range that reaches beyond the end stops there; one that begins
 * at or behind the end holds nothing and is no error.
 */
export interface ByteRange {
  readonly offset: number;
  readonly bytes?: number | undefined;
}

export interface PutFileOptions extends StoreOptions {
  /** Size of the file. */
  readonly bytes: number;
  /** SHA-256 of the file, lower case hex. What is published has been compared with it. */
  readonly sha256: string;
  /**
   * The caller will only ever remove the file afterwards, so a store on the same file system may take it (link)
   * instead of copying; its bytes are then not read again, so it must have been compared before.
   */
  readonly mayTake?: boolean | undefined;
  /** Bytes handed over so far; never decreases within one attempt. */
  readonly onProgress?: ((bytes: number) => void) | undefined;
}

export interface StoredObject {
  readonly key: string;
  readonly bytes: number;
  /** When it was stored, milliseconds since the epoch, by the store's clock. */
  readonly modifiedMs: number;
}

export interface ObjectHead extends StoredObject {
  /** Lower case hex; undefined where the store does not keep it. */
  readonly sha256: string | undefined;
}

export interface PutResult {
  /** The object was there already, with the same content. */
  readonly existed: boolean;
}

export interface CleanUpResult {
  readonly removed: number;
  readonly bytes: number;
}
