/** RFC 3339 in UTC; whole seconds without their zeros. */
export function isoTime(timeMs: number): string {
  return new Date(timeMs).toISOString().replace('.000Z', 'Z');
}
