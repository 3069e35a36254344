/** Durations in Go's syntax ("1h30m", "20s", "1.5h", "100ms", "0"), which every flag and config file uses. */

const UNIT_MS: Readonly<Record<string, number>> = {
  ns: 1e-6,
  us: 1e-3,
  µs: 1e-3, // U+00B5 micro sign
  μs: 1e-3, // U+03BC Greek mu
  ms: 1,
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
};

/** Go keeps a duration as 64-bit nanoseconds: about 292 years. */
const MAX_DURATION_MS = 2 ** 63 / 1e6;

const TERM = /(\d+\.?\d*|\.\d+)(ns|us|µs|μs|ms|s|m|h)/y;

/** Milliseconds, or undefined where Go's time.ParseDuration would refuse. */
export function parseDuration(text: string): number | undefined {
  const sign = text.startsWith('-') ? -1 : 1;
  const body = text.startsWith('-') || text.startsWith('+') ? text.slice(1) : text;
  if (body === '0') return 0;
  if (body === '') return undefined;
  let totalMs = 0;
  TERM.lastIndex = 0;
  while (TERM.lastIndex < body.length) {
    const term = TERM.exec(body);
    if (term === null) return undefined;
    totalMs += Number(term[1]) * (UNIT_MS[term[2] ?? ''] ?? Number.NaN);
  }
  return totalMs < MAX_DURATION_MS ? (totalMs === 0 ? 0 : sign * totalMs) : undefined;
}

/** As Go's Duration.String: "1h30m0s", "1.5s", "100ms", "0s". */
export function formatDuration(ms: number): string {
  const nanoseconds = Math.round(Math.abs(ms) * 1e6);
  if (nanoseconds === 0) return '0s';
  const sign = ms < 0 ? '-' : '';
  if (nanoseconds < 1e3) return `${sign}${nanoseconds}ns`;
  if (nanoseconds < 1e6) return `${sign}${trimmed(nanoseconds / 1e3, 3)}µs`;
  if (nanoseconds < 1e9) return `${sign}${trimmed(nanoseconds / 1e6, 6)}ms`;
  const wholeMinutes = Math.floor(nanoseconds / 60e9);
  const seconds = `${trimmed((nanoseconds - wholeMinutes * 60e9) / 1e9, 9)}s`;
  if (wholeMinutes === 0) return `${sign}${seconds}`;
  const hours = Math.floor(wholeMinutes / 60);
  const minutes = `${wholeMinutes % 60}m`;
  return hours === 0 ? `${sign}${minutes}${seconds}` : `${sign}${hours}h${minutes}${seconds}`;
}

function trimmed(value: number, digits: number): string {
  return value.toFixed(digits).replace(/\.?0+$/, '');
}
