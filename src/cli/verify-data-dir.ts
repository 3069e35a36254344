/** `verify --data-dir`: a verdict on a data directory, for people and for scripts. */
import type { DataDirConfig } from '../config/data-dir.js';
import { parseOutput } from '../config/output.js';
import { parseStoreConfig } from '../config/store.js';
import { BackupError, type ErrorCode } from '../errors.js';
import { CONSEQUENCES, type DataDirVerdict, type Verdict } from '../validator/data-dir/verdict.js';
import { verifyDataDir } from '../validator/data-dir/verify-data-dir.js';
import type { CommandContext } from './command.js';
import { openConfiguredStore } from './store-access.js';

/** Progress is told in shares of this. */
const WHOLE = 1_000;

/** By these the exit code: 3 for what is not there, 4 for what a restore mends, 1 for what a person has to look at. */
const CODES: Readonly<Record<Exclude<Verdict, 'ok'>, ErrorCode>> = {
  'nothing there': 'NOTHING_TO_RESTORE',
  damaged: 'CORRUPT',
  'behind the store': 'REVISION_GAP',
  'another history': 'FORK',
  'wrong volume': 'STALE',
  'cannot be decided': 'UNAVAILABLE',
};

export async function verifyDataDirCommand(context: CommandContext, config: DataDirConfig): Promise<void> {
  const { out, signal, progress, given } = context;
  const opened = config.hasStore ? await openConfiguredStore(context) : undefined;
  const verdict = await verifyDataDir(config, {
    store: opened?.store,
    tempDir: parseStoreConfig(given).tempDir,
    signal,
    onProgress: (share) => progress.update('check the database', Math.floor(share * WHOLE), WHOLE, 'pages'),
  });
  progress.end();
  if (parseOutput(given).json) out.json(verdict);
  else for (const line of describe(verdict)) out.text(line);
  if (verdict.verdict === 'ok') return;
  throw new BackupError(CODES[verdict.verdict], `${verdict.verdict}: ${CONSEQUENCES[verdict.consequence]}`, {
    op: 'verify',
    object: verdict.dataDir,
  });
}

function describe(verdict: DataDirVerdict): string[] {
  const rows: [string, string | undefined][] = [
    ['directory', `${verdict.dataDir} (${verdict.mode})`],
    ['verdict', `${verdict.verdict}; ${CONSEQUENCES[verdict.consequence]}`],
    ...verdict.problems.map((problem): [string, string] => ['problem', problem]),
    ['revision', describeRevision(verdict)],
    ['store', describeStore(verdict)],
    ['database', describeDatabase(verdict)],
    ['WAL', describeWal(verdict)],
    ['member', describeMember(verdict)],
    ['repaired', describeRepair(verdict)],
    ...verdict.notes.map((note): [string, string] => ['note', note]),
    ['read', verdict.read.length === 0 ? undefined : verdict.read.join('; ')],
  ];
  const width = Math.max(...rows.map(([name]) => name.length));
  return rows.flatMap(([name, text]) => (text === undefined ? [] : [`${name.padEnd(width)}  ${text}`]));
}

function describeRevision({ revision, wal }: DataDirVerdict): string | undefined {
  if (revision === undefined) return undefined;
  const { database, least, most, replayed } = revision;
  const entries = wal?.beyond.entries ?? 0;
  if (entries === 0) return `${database}`;
  const after = replayed ?? (least === most ? `${least}` : `${least} to ${most}`);
  return `${database} in the database, ${after} with the ${entries} entries of the WAL behind it`;
}

function describeStore({ store }: DataDirVerdict): string | undefined {
  if (store === undefined) return undefined;
  const { location, newest } = store;
  return newest === undefined
    ? `${location}: no backups`
    : `revision ${newest.revision} (${newest.object}) in ${location}`;
}

function describeDatabase({ database, records }: DataDirVerdict): string | undefined {
  if (database === undefined) return undefined;
  const { consistentIndex, term, storageVersion, clusterVersion, members } = database;
  const parts = [
    `raft index ${consistentIndex ?? 'unknown'}`,
    term === null ? undefined : `term ${term}`,
    `etcd ${storageVersion ?? clusterVersion ?? 'of an unknown version'}`,
    records === undefined ? undefined : `${records} records`,
    members.length === 1 ? '1 member' : `${members.length} members`,
  ];
  return parts.filter((part) => part !== undefined).join(', ');
}

function describeWal({ wal }: DataDirVerdict): string | undefined {
  if (wal === undefined || wal.firstFile === null) return undefined;
  const files = wal.files === 1 ? wal.firstFile : `${wal.files} files, ${wal.firstFile} to ${wal.lastFile}`;
  const kinds = wal.beyond.byKind.map(({ kind, count }) => `${count} ${kind}`).join(', ');
  return `${files}; raft entries ${wal.snapshotIndex + 1n} to ${wal.lastIndex}, term ${wal.lastTerm}, committed ${wal.commit ?? 0n}${kinds === '' ? '' : `; behind the database: ${kinds}`}`;
}

function describeMember({ wal }: DataDirVerdict): string | undefined {
  return wal === undefined || wal.memberId === null
    ? undefined
    : `${wal.memberId} of cluster ${wal.clusterId}`;
}

function describeRepair({ repaired }: DataDirVerdict): string | undefined {
  if (repaired === undefined) return undefined;
  const { file, keptBytes, cutBytes, brokenCopy } = repaired;
  return `${file}: ${cutBytes} bytes cut off behind offset ${keptBytes}; as it was: ${brokenCopy}`;
}
