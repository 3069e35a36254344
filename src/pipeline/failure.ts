/** Errors across the thread boundary: a structured clone keeps neither the class nor the code of an error. */
import { BackupError, type ErrorCode } from '../errors.js';

export interface PlainFailure {
  readonly code: ErrorCode;
  /** Without operation and object. */
  readonly what: string;
  readonly op: string;
  readonly object: string;
  readonly hint: string | undefined;
}

/** `object` is the backup's name: whoever plans again knows objects by their names. */
export function toPlainFailure(error: unknown, object: string): PlainFailure {
  if (error instanceof BackupError) {
    return { code: error.code, what: whatOf(error), op: error.op ?? 'fetch', object, hint: error.hint };
  }
  const { code, message } = error as NodeJS.ErrnoException;
  const kind = code === 'ENOSPC' || code === 'EDQUOT' ? 'NO_SPACE' : code === undefined ? 'INTERNAL' : 'IO';
  return { code: kind, what: message ?? String(error), op: 'fetch', object, hint: undefined };
}

export function fromPlainFailure({ code, what, op, object, hint }: PlainFailure): BackupError {
  return new BackupError(code, what, { op, object, ...(hint === undefined ? {} : { hint }) });
}

/** The message without "op: object: ", which the new error puts there again. */
export function whatOf(error: BackupError): string {
  let what = error.message;
  for (const part of [error.op, error.object]) {
    if (part !== undefined && what.startsWith(`${part}: `)) what = what.slice(part.length + 2);
  }
  return what;
}
