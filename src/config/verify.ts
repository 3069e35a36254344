/** What is verified. */
import { bool, type Given, parseFlags, text } from './flag.js';

export const verifyFlags = {
  file: text('file', '', 'verify this snapshot file instead of a store'),
  skipHashCheck: bool(
    'skip-hash-check',
    false,
    'accept a file that lacks its SHA-256 (copied from a data directory)',
  ),
} as const;

export interface VerifyConfig {
  readonly file: string | undefined;
  readonly skipHashCheck: boolean;
}

export function parseVerifyConfig(given: Given): VerifyConfig {
  const { file, skipHashCheck } = parseFlags(verifyFlags, given);
  return Object.freeze({ file: file || undefined, skipHashCheck });
}
