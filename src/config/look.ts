/** What is looked for in backups, and where. */
import { BackupError } from '../errors.js';
import { bool, choice, type Given, parseFlags, repeated, text } from './flag.js';

const MAX_REVISION = 2n ** 63n - 1n;

/** Of every command that looks into backups. */
export const lookFlags = {
  file: text('file', '', 'look into this file instead of a store: a snapshot, a database, a delta'),
  exclude: repeated('exclude', [], 'leave this object out; may be given several times'),
  timeline: choice('timeline', ['', 'newest', 'highest'], '', 'which branch of a forked history'),
} as const;

const prefix = text('prefix', '', 'every key that begins so; "" means every key');
const atRevision = text('at-revision', '', 'as it was at this revision (default: the newest)');

export const getFlags = {
  prefix,
  atRevision,
  valueOnly: bool('value-only', false, 'print the value and nothing else'),
} as const;
export const historyFlags = { prefix, atRevision } as const;
export const diffFlags = {
  fromRevision: text('from-revision', '', 'the state before'),
  toRevision: text('to-revision', '', 'the state after (default: the newest)'),
  prefix,
} as const;
export const exportFlags = {
  prefix,
  atRevision,
  format: choice('format', ['jsonl'], 'jsonl', 'one JSON object a line, keys and values in base64'),
} as const;

export interface LookConfig {
  readonly file: string | undefined;
  readonly exclude: readonly string[];
  readonly timeline: 'newest' | 'highest' | undefined;
}

/** Keys as they were typed: one, or all that begin so. */
export interface KeyConfig {
  readonly key: Buffer;
  readonly isPrefix: boolean;
}

export function parseLookConfig(given: Given): LookConfig {
  const { file, exclude, timeline } = parseFlags(lookFlags, given);
  return Object.freeze({ file: file || undefined, exclude, timeline: timeline || undefined });
}

export interface GetConfig extends KeyConfig {
  readonly atRevision: bigint | undefined;
  readonly valueOnly: boolean;
}

export function parseGetConfig(given: Given, operands: readonly string[]): GetConfig {
  const { valueOnly } = parseFlags(getFlags, given);
  return Object.freeze({ ...parseKeys(given, operands), ...parseAtRevision(given), valueOnly });
}

export interface HistoryConfig extends KeyConfig {
  readonly atRevision: bigint | undefined;
}

export function parseHistoryConfig(given: Given, operands: readonly string[]): HistoryConfig {
  return Object.freeze({ ...parseKeys(given, operands), ...parseAtRevision(given) });
}

export function parseExportConfig(given: Given): HistoryConfig {
  return Object.freeze({ ...parsePrefix(given), ...parseAtRevision(given) });
}

export interface DiffConfig extends KeyConfig {
  readonly fromRevision: bigint;
  /** Undefined: the newest. */
  readonly toRevision: bigint | undefined;
}

export function parseDiffConfig(given: Given): DiffConfig {
  const { fromRevision, toRevision } = parseFlags(diffFlags, given);
  if (fromRevision === '')
    throw new BackupError('USAGE', 'is missing: a difference needs the revision of the state before', {
      object: '--from-revision',
    });
  const from = parseRevision('--from-revision', fromRevision);
  const to = toRevision === '' ? undefined : parseRevision('--to-revision', toRevision);
  if (to !== undefined && from > to)
    throw new BackupError('USAGE', `${from} is above ${to}; the older state comes first`, {
      object: '--from-revision, --to-revision',
    });
  return Object.freeze({ ...parsePrefix(given), fromRevision: from, toRevision: to });
}

function parsePrefix(given: Given): KeyConfig {
  return { key: Buffer.from(parseFlags({ prefix }, given).prefix), isPrefix: true };
}

function parseAtRevision(given: Given): { readonly atRevision: bigint | undefined } {
  const typed = parseFlags({ atRevision }, given).atRevision;
  return { atRevision: typed === '' ? undefined : parseRevision('--at-revision', typed) };
}

function parseKeys(given: Given, operands: readonly string[]): KeyConfig {
  const [key, ...more] = operands;
  const isPrefix = given.has('prefix');
  if (isPrefix && key === undefined) return parsePrefix(given);
  if (!isPrefix && key !== undefined && key !== '' && more.length === 0)
    return { key: Buffer.from(key), isPrefix: false };
  throw new BackupError('USAGE', 'takes one KEY, or --prefix P');
}

function parseRevision(flag: string, typed: string): bigint {
  const revision = /^[1-9]\d{0,18}$/.test(typed) ? BigInt(typed) : 0n;
  if (revision > 0n && revision <= MAX_REVISION) return revision;
  throw new BackupError('USAGE', `${JSON.stringify(typed)}: expected a revision, 1 or more`, {
    object: flag,
  });
}
