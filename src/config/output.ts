/** How results are printed. */
import { bool, type Given, parseFlags } from './flag.js';

export const outputFlags = {
  json: bool('json', false, 'print the result as JSON'),
} as const;

export interface OutputConfig {
  readonly json: boolean;
}

export function parseOutput(given: Given): OutputConfig {
  return parseFlags(outputFlags, given);
}
