/**
 * Whether two objects are of one history, asked of their content (architecture, decision 6): does the last record of the
 * lower one stand in the higher one? As a restore asks it, but of the objects where they lie. What cannot be told is
 * "unknown", and then the reader of the fork decides.
 */
import { isBackupError } from '../errors.js';
import { deltaLastEvent, Look } from '../native/index.js';
import type { ContentAnswer, ContentQuestion, StoredSnapshot, Verdict } from '../snapshot/plan.js';
import type { ObjectFiles, ReadOptions } from './object-files.js';

/** Not the object's fault: nothing is known then. */
const NOT_ITS_FAULT = ['CANCELLED', 'NO_SPACE', 'UNAVAILABLE', 'TIMEOUT', 'INTERNAL', 'IO', 'PERMISSION'];

interface Told {
  readonly tempDir: string;
  readonly warn: (text: string) => void;
}

export async function answerQuestion(
  files: ObjectFiles,
  { lower, higher }: ContentQuestion,
  { tempDir, warn }: Told,
  options: ReadOptions,
): Promise<ContentAnswer> {
  const names = { lower: lower.name.text, higher: higher.name.text };
  try {
    if (lower.name.kind === 'delta' && higher.name.kind === 'delta') {
      const revision = lower.name.last;
      const of = (object: StoredSnapshot) => changesAt(files, object, revision, tempDir, options);
      const [a, b] = [await of(lower), await of(higher)];
      return { ...names, verdict: a === undefined || b === undefined ? 'unknown' : verdictOf(a, b) };
    }
    return { ...names, verdict: await compareEnds(files, lower, higher, options) };
  } catch (error) {
    if (!isBackupError(error) || NOT_ITS_FAULT.includes(error.code)) throw error;
    warn(`cannot compare ${names.lower} with ${names.higher}: ${error.message}`);
    return { ...names, verdict: 'unknown' };
  }
}

interface Identity {
  readonly key: Buffer;
  readonly main: bigint;
  readonly sha256: string;
}

async function compareEnds(
  files: ObjectFiles,
  lower: StoredSnapshot,
  higher: StoredSnapshot,
  options: ReadOptions,
): Promise<Verdict> {
  const end = await lastOf(files, lower, options);
  if (end === undefined) return 'unknown';
  if (higher.name.kind === 'delta') {
    const other = await lastOf(files, higher, options);
    return other === undefined || other.main !== end.main ? 'unknown' : verdictOf(text(end), text(other));
  }
  const full = await files.full(higher, options);
  const found = await full.lastRecord(end.main, options);
  // A revision that is not there was compacted away, unless it is above what is.
  if (found === null) return end.main > full.revision ? 'differs' : 'unknown';
  return verdictOf(text(end), text(found));
}

async function lastOf(
  files: ObjectFiles,
  object: StoredSnapshot,
  options: ReadOptions,
): Promise<Identity | undefined> {
  if (object.name.kind === 'full')
    return (await (await files.full(object, options)).lastRecord(null, options)) ?? undefined;
  return files.withDelta(object, options, async (path) => {
    const { key, main, recordSha256 } = await deltaLastEvent(object.name.text, path, options);
    return { key, main, sha256: recordSha256 };
  });
}

/** Everything that a delta holds of one revision; undefined when that is nothing. */
async function changesAt(
  files: ObjectFiles,
  object: StoredSnapshot,
  revision: bigint,
  tempDir: string,
  options: ReadOptions,
): Promise<string | undefined> {
  const query = { ask: 'history', from: 0n, to: revision, withValues: true } as const;
  const look = new Look({ key: Buffer.alloc(0), isPrefix: true, ...query, tempDir });
  const part = { source: 0, side: 'to', after: revision - 1n } as const;
  await files.withDelta(object, options, (path) => look.delta(object.name.text, path, part, options));
  const changes: string[] = [];
  for await (const { kind, key, value, sub, createRevision, version, lease } of look.rows(options)) {
    const numbers = [kind, sub, createRevision, version, lease].join(' ');
    changes.push(`${numbers} ${key.toString('base64')} ${value.toString('base64')}`);
  }
  return changes.length === 0 ? undefined : changes.join('\n');
}

function text({ key, main, sha256 }: Identity): string {
  return `${key.toString('base64')} ${main} ${sha256}`;
}

function verdictOf(a: string, b: string): Verdict {
  return a === b ? 'stands' : 'differs';
}
