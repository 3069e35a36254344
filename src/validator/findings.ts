import type { Finding } from '../native/index.js';

export const THREADS = 2;
/** Findings that are described of one file; all are counted. */
export const MAX_FINDINGS = 20;

export function describeFindings(check: string, findings: readonly Finding[], total: number): string[] {
  const described = findings.map(({ place, detail }) => `${check}: ${place}: ${detail}`);
  const more = total - findings.length;
  return more > 0 ? [...described, `${check}: and ${more} findings more`] : described;
}
