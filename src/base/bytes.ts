/** Sizes and rates as people read them. Powers of 1024, named so. */

const UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'] as const;

/** "0 B", "1023 B", "1.50 MiB", "12.3 GiB", "512 MiB": three digits that count. */
export function formatBytes(bytes: number): string {
  let value = Math.abs(bytes);
  let unit = 0;
  // 1023.5 would be printed as "1024".
  while (value >= (unit === 0 ? 1024 : 1023.5) && unit < UNITS.length - 1) {
    value /= 1024;
    unit += 1;
  }
  const sign = bytes < 0 ? '-' : '';
  return `${sign}${unit === 0 ? Math.round(value) : threeDigits(value)} ${UNITS[unit]}`;
}

/** "12.3 MiB/s"; no time passed gives "- B/s" rather than Infinity. */
export function formatRate(bytes: number, elapsedMs: number): string {
  if (!(elapsedMs > 0)) return '- B/s';
  return `${formatBytes((bytes * 1000) / elapsedMs)}/s`;
}

function threeDigits(value: number): string {
  if (value >= 99.95) return value.toFixed(0);
  return value >= 9.995 ? value.toFixed(1) : value.toFixed(2);
}
