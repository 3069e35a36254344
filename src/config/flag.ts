/**
 * Flags as data: name, kind, default, help. The command line turns them into options, `parseFlags` turns what was
 * typed into values, once. Names, kinds and syntax are the Go tool's wherever it has the flag.
 */
import { formatDuration, parseDuration } from '../base/duration.js';
import { BackupError } from '../errors.js';

/** What was typed: each flag's texts in order. A bare boolean flag is "true". */
export type Given = ReadonlyMap<string, readonly string[]>;

export interface Flag<T> {
  readonly name: string;
  readonly short?: string;
  /** What stands behind the flag in `--help`; undefined for a boolean flag. */
  readonly placeholder: string | undefined;
  readonly help: string;
  readonly fallback: T;
  /** Throws a RangeError that says what is allowed. */
  read(texts: readonly string[]): T;
  show(value: T): string;
  /** The feature that a flag of the Go tool belongs to, when it is not there yet. */
  readonly later?: string;
}

export type FlagSet = Readonly<Record<string, Flag<unknown>>>;
export type Values<F extends FlagSet> = { readonly [K in keyof F]: F[K] extends Flag<infer T> ? T : never };

interface Extra {
  readonly short?: string;
  readonly later?: string;
}

export function text(name: string, fallback: string, help: string, extra: Extra = {}): Flag<string> {
  return flag(name, 'string', fallback, help, last, (value) => value, extra);
}

/** Comma separated and repeatable. */
export function list(
  name: string,
  fallback: readonly string[],
  help: string,
  extra: Extra = {},
): Flag<readonly string[]> {
  const read = (texts: readonly string[]) =>
    texts.flatMap((value) => value.split(',')).filter((item) => item !== '');
  return flag(name, 'list', fallback, help, read, (value) => value.join(','), extra);
}

/** Repeatable, not split at commas. */
export function repeated(name: string, fallback: readonly string[], help: string): Flag<readonly string[]> {
  return flag(
    name,
    'string',
    fallback,
    help,
    (texts) => texts,
    (value) => value.join(' '),
    {},
  );
}

export function bool(name: string, fallback: boolean, help: string, extra: Extra = {}): Flag<boolean> {
  const read = (texts: readonly string[]) => {
    const value = last(texts);
    if (/^(1|t|T|true|TRUE|True)$/.test(value)) return true;
    if (/^(0|f|F|false|FALSE|False)$/.test(value)) return false;
    throw new RangeError('expected true or false');
  };
  return flag(name, undefined, fallback, help, read, String, extra);
}

export interface Range extends Extra {
  readonly min: number;
  readonly max?: number;
}

export function integer(name: string, fallback: number, help: string, range: Range): Flag<number> {
  const max = range.max ?? Number.MAX_SAFE_INTEGER;
  const read = (texts: readonly string[]) => {
    const value = /^-?\d+$/.test(last(texts)) ? Number(last(texts)) : Number.NaN;
    if (value >= range.min && value <= max) return value;
    const allowed =
      range.max === undefined && !(value > max)
        ? `a whole number of at least ${range.min}`
        : `${range.min} to ${max}`;
    throw new RangeError(`expected ${allowed}`);
  };
  return flag(name, 'number', fallback, help, read, String, range);
}

const MAX_REVISION = 2n ** 63n - 1n;

/** Undefined unless given. */
export function revision(name: string, help: string): Flag<bigint | undefined> {
  const read = (texts: readonly string[]) => {
    const value = /^[1-9]\d{0,18}$/.test(last(texts)) ? BigInt(last(texts)) : 0n;
    if (value > 0n && value <= MAX_REVISION) return value;
    throw new RangeError('expected a revision, 1 or more');
  };
  return flag<bigint | undefined>(name, 'revision', undefined, help, read, () => '', {});
}

const TIME = /^\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d(:\d\d(\.\d+)?)?([Zz]|[+-]\d\d:\d\d)$/;

/**
 * Milliseconds since the epoch; undefined unless given. Typed with its zone: a time that depends on where it is read
 * would be another one on another machine.
 */
export function time(name: string, help: string): Flag<number | undefined> {
  const read = (texts: readonly string[]) => {
    const typed = last(texts);
    const timeMs = TIME.test(typed) ? Date.parse(typed.toUpperCase().replace(' ', 'T')) : Number.NaN;
    if (!Number.isNaN(timeMs)) return timeMs;
    throw new RangeError('expected a time with its zone, such as 2026-11-30T03:12:00Z');
  };
  return flag<number | undefined>(name, 'time', undefined, help, read, () => '', {});
}

/** Milliseconds; typed in Go's syntax. */
export function duration(name: string, fallbackMs: number, help: string, range: Range): Flag<number> {
  const read = (texts: readonly string[]) => {
    const value = parseDuration(last(texts));
    if (value === undefined) throw new RangeError('expected a duration such as 20s, 1h30m or 100ms');
    if (value < range.min)
      throw new RangeError(`expected a duration of at least ${formatDuration(range.min)}`);
    return value;
  };
  return flag(name, 'duration', fallbackMs, help, read, formatDuration, range);
}

export function choice<const C extends string>(
  name: string,
  choices: readonly C[],
  fallback: C,
  help: string,
  extra: Extra = {},
): Flag<C> {
  // "" stands for "not given": it can be typed, and is not worth telling.
  const told = choices.filter((item) => item !== '');
  const read = (texts: readonly string[]) => {
    const found = choices.find((item) => item === last(texts));
    if (found === undefined) throw new RangeError(`expected ${told.join(', ')}`);
    return found;
  };
  return flag(name, told.join('|'), fallback, help, read, (value) => value, extra);
}

/** Reads every flag of the set; what was not typed has its default. A wrong value names its flag. */
export function parseFlags<F extends FlagSet>(flags: F, given: Given): Values<F> {
  const values: Record<string, unknown> = {};
  for (const [key, spec] of Object.entries(flags)) values[key] = readFlag(spec, given.get(spec.name));
  return Object.freeze(values) as Values<F>;
}

/** One text for each flag that was typed and whose feature is not there yet. */
export function laterWarnings(flags: FlagSet, given: Given): string[] {
  return Object.values(flags)
    .filter((spec) => spec.later !== undefined && given.has(spec.name))
    .map((spec) => `--${spec.name} has no effect yet: ${spec.later} is not there`);
}

function readFlag<T>(spec: Flag<T>, texts: readonly string[] | undefined): T {
  if (texts === undefined || texts.length === 0) return spec.fallback;
  try {
    return spec.read(texts);
  } catch (reason) {
    if (!(reason instanceof RangeError)) throw reason;
    throw new BackupError('USAGE', `${JSON.stringify(last(texts))}: ${reason.message}`, {
      object: `--${spec.name}`,
    });
  }
}

function last(texts: readonly string[]): string {
  return texts.at(-1) ?? '';
}

function flag<T>(
  name: string,
  placeholder: string | undefined,
  fallback: T,
  help: string,
  read: (texts: readonly string[]) => T,
  show: (value: T) => string,
  extra: Extra,
): Flag<T> {
  return { name, placeholder, fallback, help, read, show, ...extra };
}
