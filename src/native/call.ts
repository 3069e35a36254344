/**
 * The one place where calls into the addon are made: abort, progress and errors are converted here and nowhere
 * else. The caller's own AbortSignal is never handed to napi, which would change it.
 */
import { BackupError, ERROR_CODES, type ErrorCode } from '../errors.js';
import { JobControl } from './binding.js';

export interface NativeOptions {
  readonly signal?: AbortSignal | undefined;
  /** Called about five times a second with the work done so far; the verb names the unit. */
  readonly onProgress?: ((done: number) => void) | undefined;
}

const PROGRESS_INTERVAL_MS = 200;

/**
 * Runs one asynchronous verb. `object` is what an error names; where a verb reads several files it is asked for, with
 * the delta that is at fault, if it is one.
 */
export async function call<T>(
  op: string,
  object: string | ((file: string | undefined) => string),
  start: (control: JobControl) => Promise<T>,
  { signal, onProgress }: NativeOptions = {},
): Promise<T> {
  const control = new JobControl();
  const cancel = () => control.cancel();
  if (signal?.aborted) cancel();
  signal?.addEventListener('abort', cancel, { once: true });
  const timer = onProgress && setInterval(() => onProgress(control.done()), PROGRESS_INTERVAL_MS);
  try {
    return await start(control);
  } catch (error) {
    const { file } = error as { file?: string };
    throw toBackupError(error, op, typeof object === 'string' ? object : object(file), signal);
  } finally {
    clearInterval(timer);
    signal?.removeEventListener('abort', cancel);
  }
}

/** Runs one synchronous verb. */
export function callSync<T>(op: string, object: string, run: () => T): T {
  try {
    return run();
  } catch (error) {
    throw toBackupError(error, op, object);
  }
}

function toBackupError(error: unknown, op: string, object: string, signal?: AbortSignal): unknown {
  if (!(error instanceof Error)) return error;
  const code = (error as { code?: unknown }).code;
  if (!isErrorCode(code)) return error;
  const cause = code === 'CANCELLED' ? signal?.reason : undefined;
  return new BackupError(code, error.message, { op, object, ...(cause === undefined ? {} : { cause }) });
}

function isErrorCode(code: unknown): code is ErrorCode {
  return (ERROR_CODES as readonly unknown[]).includes(code);
}
