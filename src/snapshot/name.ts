/**
 * Names of backup objects, ours and the Go tool's:
 *
 *   name     = kind "-" start "-" last "-" unixsecs [suffix] [".age"] [".final"]
 *   kind     = "Full" | "Incr"
 *   start    = first revision of a delta, 0 for a full        (decimal, padded to at least 8 digits)
 *   last     = last revision. A full may hold more than its name says (hazard 1)
 *   unixsecs = our full: when its stream was opened; the Go tool's: when it had ended; delta: when it was cut
 *   suffix   = ".gz" | ".zlib" | ".Z" | ".zst" (fulls) | ".ebd" (deltas) | none
 *
 * Temporary names begin with "." and never parse: the Go tool takes any other one for a backup (hazard 45).
 */

export type SnapshotKind = 'full' | 'delta';
export type Codec = 'none' | 'gzip' | 'zlib' | 'lzw' | 'zstd' | 'ebd';

export interface SnapshotName {
  /** As it stands in the store, without directories. */
  readonly text: string;
  readonly kind: SnapshotKind;
  readonly start: bigint;
  readonly last: bigint;
  readonly createdSecs: number;
  readonly codec: Codec;
  readonly encrypted: boolean;
  readonly final: boolean;
}

export type NameParts = Omit<SnapshotName, 'text' | 'encrypted' | 'final'> & {
  readonly encrypted?: boolean;
  readonly final?: boolean;
};

/** What a name is, or why it is none. */
export type ParsedName =
  | { readonly ok: true; readonly name: SnapshotName }
  | { readonly ok: false; readonly reason: string };

const SUFFIX: Readonly<Record<Codec, string>> = {
  none: '',
  gzip: '.gz',
  zlib: '.zlib',
  lzw: '.Z',
  zstd: '.zst',
  ebd: '.ebd',
};
const CODEC: ReadonlyMap<string, Codec> = new Map(
  Object.entries(SUFFIX).map(([codec, suffix]) => [suffix.slice(1), codec as Codec]),
);
const KIND_WORD: Readonly<Record<SnapshotKind, string>> = { full: 'Full', delta: 'Incr' };

const MIN_REVISION_DIGITS = 8;
/** etcd's revisions are signed 64-bit numbers. */
export const MAX_REVISION = 2n ** 63n - 1n;
/** Longer than any name that the grammar allows, and bounds what is matched against it. */
const MAX_NAME_CHARS = 128;

const NAME = /^(Full|Incr)-(\d{1,19})-(\d{1,19})-(\d{1,12})((?:\.[A-Za-z0-9]*)*)$/;

/** The text of a name. Throws a RangeError for parts that no object can have. */
export function formatName(parts: NameParts): string {
  const fault = partsFault(parts);
  if (fault !== undefined) throw new RangeError(`snapshot name: ${fault}`);
  const revisions = [parts.start, parts.last].map((revision) =>
    revision.toString().padStart(MIN_REVISION_DIGITS, '0'),
  );
  const suffixes = `${SUFFIX[parts.codec]}${parts.encrypted ? '.age' : ''}${parts.final ? '.final' : ''}`;
  return `${KIND_WORD[parts.kind]}-${revisions.join('-')}-${parts.createdSecs}${suffixes}`;
}

/** Reads one path element. Names that others put beside ours get a reason, never an exception (hazard 34). */
export function parseName(text: string): ParsedName {
  if (text.startsWith('.')) return refuse('begins with ".", so it is unfinished');
  const match = text.length > MAX_NAME_CHARS ? null : NAME.exec(text);
  if (match === null) return refuse('is not named Full|Incr-<start>-<last>-<unixsecs>');
  const [, word, start = '', last = '', createdSecs = '', tail = ''] = match;
  const suffixes = parseSuffixes(tail);
  if (typeof suffixes === 'string') return refuse(suffixes);
  const name: SnapshotName = {
    text,
    kind: word === 'Full' ? 'full' : 'delta',
    start: BigInt(start),
    last: BigInt(last),
    createdSecs: Number(createdSecs),
    ...suffixes,
  };
  const fault = partsFault(name);
  return fault === undefined ? { ok: true, name } : refuse(fault);
}

/** "Full-00000000-00000012-1700000000": what stays when codec, encryption and mark are taken off. */
export function bareName(text: string): string {
  const dot = text.indexOf('.');
  return dot === -1 ? text : text.slice(0, dot);
}

/** Whether what a user typed means this object: its key, its name, or the name without suffixes. */
export function isMeant(typed: string, text: string): boolean {
  const name = typed.slice(typed.lastIndexOf('/') + 1);
  return name === text || name === bareName(text);
}

function parseSuffixes(tail: string): Pick<SnapshotName, 'codec' | 'encrypted' | 'final'> | string {
  const suffixes = tail === '' ? [] : tail.slice(1).split('.');
  const final = suffixes.at(-1) === 'final';
  if (final) suffixes.pop();
  const encrypted = suffixes.at(-1) === 'age';
  if (encrypted) suffixes.pop();
  const codec = CODEC.get(suffixes[0] ?? '');
  const strange = codec === undefined ? suffixes[0] : suffixes[1];
  if (codec === undefined || strange !== undefined || suffixes[0] === '') {
    return `has the unknown suffix ".${strange ?? ''}"`;
  }
  return { codec, encrypted, final };
}

function partsFault(parts: NameParts): string | undefined {
  if (parts.last > MAX_REVISION) return `has a last revision above ${MAX_REVISION}`;
  if (parts.start < 0n || parts.start > parts.last) return 'has a start above its last revision';
  if (!Number.isSafeInteger(parts.createdSecs) || parts.createdSecs < 0) return 'has no time in seconds';
  if (parts.kind === 'full' && parts.codec === 'ebd') return 'is a full with the suffix of deltas, ".ebd"';
  if (parts.kind === 'delta' && parts.codec === 'zstd') return 'is a delta with the suffix of fulls, ".zst"';
  return undefined;
}

function refuse(reason: string): ParsedName {
  return { ok: false, reason };
}
