/**
 * Arguments as the Go tool's flag library takes them: a boolean flag stands alone or has its value after "=", so that
 * `--skip-hash-check FILE` never takes FILE for its value.
 */
import type { FlagSet } from '../config/flag.js';

/** Gives every bare boolean flag its "true" in place. What follows "--" is left alone. */
export function normalizeArguments(args: readonly string[], flags: readonly FlagSet[]): string[] {
  const booleans = new Set(
    flags
      .flatMap((set) => Object.values(set))
      .filter((flag) => flag.placeholder === undefined)
      .map((flag) => `--${flag.name}`),
  );
  const end = args.indexOf('--');
  return args.map((arg, index) => (booleans.has(arg) && (end === -1 || index < end) ? `${arg}=true` : arg));
}
