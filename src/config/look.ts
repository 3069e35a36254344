/** What is looked for in backups, and where. */
import { BackupError } from '../errors.js';
import { bool, choice, type Given, parseFlags, repeated, revision, text, time } from './flag.js';

/** Of every command that looks into backups. */
export const lookFlags = {
  file: text('file', '', 'look into this file instead of a store: a snapshot, a database, a delta'),
  exclude: repeated('exclude', [], 'leave this object out; may be given several times'),
  timeline: choice('timeline', ['', 'newest', 'highest'], '', 'which branch of a forked history'),
} as const;

const prefix = text('prefix', '', 'every key that begins so; "" means every key');
const at = {
  atRevision: revision('at-revision', 'as it was at this revision (default: the newest)'),
  atTimeMs: time('at-time', 'as it was at this time (RFC 3339)'),
} as const;

export const getFlags = {
  prefix,
  ...at,
  valueOnly: bool('value-only', false, 'print the value and nothing else'),
} as const;
export const historyFlags = { prefix, ...at } as const;
export const diffFlags = {
  fromRevision: revision('from-revision', 'the state before'),
  toRevision: revision('to-revision', 'the state after (default: the newest)'),
  prefix,
} as const;
export const exportFlags = {
  prefix,
  ...at,
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

/** Of which state; the newest when both are undefined. */
export interface MomentConfig {
  readonly atRevision: bigint | undefined;
  readonly atTimeMs: number | undefined;
}

export interface GetConfig extends KeyConfig, MomentConfig {
  readonly valueOnly: boolean;
}

export function parseGetConfig(given: Given, operands: readonly string[]): GetConfig {
  const { valueOnly } = parseFlags(getFlags, given);
  return Object.freeze({ ...parseKeys(given, operands), ...parseMoment(given), valueOnly });
}

export interface HistoryConfig extends KeyConfig, MomentConfig {}

export function parseHistoryConfig(given: Given, operands: readonly string[]): HistoryConfig {
  return Object.freeze({ ...parseKeys(given, operands), ...parseMoment(given) });
}

export function parseExportConfig(given: Given): HistoryConfig {
  return Object.freeze({ ...parsePrefix(given), ...parseMoment(given) });
}

export interface DiffConfig extends KeyConfig {
  readonly fromRevision: bigint;
  /** Undefined: the newest. */
  readonly toRevision: bigint | undefined;
}

export function parseDiffConfig(given: Given): DiffConfig {
  const { fromRevision, toRevision } = parseFlags(diffFlags, given);
  if (fromRevision === undefined)
    throw new BackupError('USAGE', 'is missing: a difference needs the revision of the state before', {
      object: '--from-revision',
    });
  if (toRevision !== undefined && fromRevision > toRevision)
    throw new BackupError('USAGE', `${fromRevision} is above ${toRevision}; the older state comes first`, {
      object: '--from-revision, --to-revision',
    });
  return Object.freeze({ ...parsePrefix(given), fromRevision, toRevision });
}

function parsePrefix(given: Given): KeyConfig {
  return { key: Buffer.from(parseFlags({ prefix }, given).prefix), isPrefix: true };
}

function parseMoment(given: Given): MomentConfig {
  const { atRevision, atTimeMs } = parseFlags(at, given);
  if (atRevision === undefined || atTimeMs === undefined) return { atRevision, atTimeMs };
  throw new BackupError('USAGE', 'only one of the two can be meant', { object: '--at-revision, --at-time' });
}

function parseKeys(given: Given, operands: readonly string[]): KeyConfig {
  const [key, ...more] = operands;
  const isPrefix = given.has('prefix');
  if (isPrefix && key === undefined) return parsePrefix(given);
  if (!isPrefix && key !== undefined && key !== '' && more.length === 0)
    return { key: Buffer.from(key), isPrefix: false };
  throw new BackupError('USAGE', 'takes one KEY, or --prefix P');
}
