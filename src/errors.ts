/**
 * The one error class of the product. Rust picks a code, TypeScript owns the class; messages are for people
 * and are never parsed.
 */

/** Every code an error can carry; `src/native` and the addon hold the same list, and a test walks both. */
export const ERROR_CODES = [
  'CORRUPT',
  'TRUNCATED',
  'CHECKSUM',
  'NOT_SORTED',
  'REVISION_GAP',
  'FORK',
  'MISMATCH',
  'UNSUPPORTED',
  'NOT_FOUND',
  'EXISTS',
  'LOCKED',
  'NO_SPACE',
  'PERMISSION',
  'READ_ONLY',
  'UNAVAILABLE',
  'COMPACTED',
  'TIMEOUT',
  'CANCELLED',
  'IO',
  'USAGE',
  'NOTHING_TO_RESTORE',
  'STALE',
  'INTERNAL',
] as const;

export type ErrorCode = (typeof ERROR_CODES)[number];

export interface ErrorDetails {
  /** What was being done: "restore", "snapshot full". */
  readonly op?: string;
  /** What it was done to: an object's name, a path, an endpoint. */
  readonly object?: string;
  /** What the reader can do now. */
  readonly hint?: string;
  readonly cause?: unknown;
}

/** An expected failure. `message` reads "op: object: what is wrong"; `hint` says what to do. */
export class BackupError extends Error {
  override readonly name = 'BackupError';
  readonly code: ErrorCode;
  readonly op: string | undefined;
  readonly object: string | undefined;
  readonly hint: string | undefined;

  constructor(code: ErrorCode, what: string, details: ErrorDetails = {}) {
    const message = [details.op, details.object, what].filter((part) => part !== undefined).join(': ');
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.code = code;
    this.op = details.op;
    this.object = details.object;
    this.hint = details.hint;
  }
}

export function isBackupError(error: unknown, code?: ErrorCode): error is BackupError {
  return error instanceof BackupError && (code === undefined || error.code === code);
}

const DAMAGE_CODES: readonly ErrorCode[] = [
  'CORRUPT',
  'TRUNCATED',
  'CHECKSUM',
  'NOT_SORTED',
  'REVISION_GAP',
  'UNSUPPORTED',
];

/** The bytes of the object are at fault, not the way to them: reading again would not help, another object may. */
export function isDamaged(error: unknown): error is BackupError {
  return isBackupError(error) && DAMAGE_CODES.includes(error.code);
}
