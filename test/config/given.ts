import type { Given } from '../../src/config/flag.js';

/** What was typed, by flag. */
export function given(typed: Readonly<Record<string, readonly string[]>>): Given {
  return new Map(Object.entries(typed));
}
