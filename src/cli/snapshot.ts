/** `snapshot`: backs an etcd up, once or until it is stopped. */
import { formatBytes } from '../base/bytes.js';
import { formatDuration } from '../base/duration.js';
import { backupFlags, parseBackupConfig } from '../config/backup.js';
import { etcdFlags, parseEtcdConfig } from '../config/etcd.js';
import { loggingFlags } from '../config/logging.js';
import { storeFlags } from '../config/store.js';
import { EtcdClient } from '../etcd/client.js';
import { runSnapshotter, type SnapshotterEvent } from '../snapshotter/snapshotter.js';
import type { Command, CommandContext } from './command.js';
import type { Logger } from './log.js';
import type { Progress } from './progress.js';
import { openConfiguredStore } from './store-access.js';

export const snapshotCommand: Command = {
  name: 'snapshot',
  description:
    'Takes a full snapshot, then deltas from a watch, until it is stopped; after a restart it goes on where it was ' +
    'when that is safe. With --once it stores one object and ends.',
  flags: [etcdFlags, storeFlags, backupFlags, loggingFlags],
  run: snapshot,
};

async function snapshot(context: CommandContext): Promise<void> {
  const { given, program, signal, log, progress } = context;
  const etcd = parseEtcdConfig(given);
  const config = parseBackupConfig(given, program);
  const { store, config: storeConfig } = await openConfiguredStore(context);
  const client = await EtcdClient.open(etcd);
  log.info({ endpoints: etcd.endpoints, store: store.location }, 'backing up');
  try {
    await runSnapshotter({
      ...{ client, store, config, signal },
      tempDir: storeConfig.tempDir,
      snapshotTimeoutMs: etcd.snapshotTimeoutMs,
      observe: (event) => tell(event, log, progress),
    });
    log.info(signal.aborted ? 'stopped; everything is stored' : 'done');
  } finally {
    client.close();
  }
}

const STAGES = {
  stream: ['streaming the snapshot', 'bytes'],
  check: ['checking the database', 'pages'],
  upload: ['storing the full', 'bytes'],
} as const;

function tell(event: SnapshotterEvent, log: Logger, progress: Progress): void {
  if (event.kind === 'full-progress') {
    const [stage, unit] = STAGES[event.stage];
    progress.update(stage, event.done, event.total, unit);
    return;
  }
  if (event.kind === 'full-stored' || event.kind === 'failed') progress.end();
  const { level = 'info', text, fields = {} } = lineOf(event);
  log[level](fields, text);
}

interface Line {
  readonly level?: 'info' | 'warn' | 'error';
  readonly text: string;
  readonly fields?: Readonly<Record<string, unknown>>;
}

function lineOf(event: Exclude<SnapshotterEvent, { kind: 'full-progress' }>): Line {
  switch (event.kind) {
    case 'full-stored': {
      const { name, revision, bytes, plainBytes, tookMs } = event;
      const sizes = `${formatBytes(plainBytes)}, ${formatBytes(bytes)} packed`;
      const text = `full snapshot of revision ${revision} stored: ${sizes}, in ${formatDuration(tookMs)}`;
      return { text, fields: { name, revision: revision.toString(), bytes } };
    }
    case 'delta-stored': {
      const { name, events, bytes, firstRevision, lastRevision } = event;
      return {
        text: `delta of revisions ${firstRevision} to ${lastRevision} stored`,
        fields: { name, events, bytes },
      };
    }
    case 'nothing-new':
      return { text: `nothing new: the store ends at revision ${event.revision}, and so does etcd` };
    case 'start':
      return {
        text: `${event.start === 'full' ? 'a full is taken' : 'going on with deltas'}: ${event.reason}`,
      };
    case 'watching':
      return { text: `watching ${event.endpoint} from revision ${event.fromRevision}` };
    default:
      return troubleOf(event);
  }
}

type Trouble = Extract<SnapshotterEvent, { kind: 'watch-broken' | 'failed' | 'spool-full' | 'warning' }>;

function troubleOf(event: Trouble): Line {
  switch (event.kind) {
    case 'watch-broken':
      return { level: 'warn', text: `${event.error.message}; watching again ${inTime(event.retryMs)}` };
    case 'failed': {
      const { what, error, retryMs } = event;
      const fields = { what, code: error.code, ...withHint(error.hint) };
      return { level: 'error', text: `${error.message}; trying again ${inTime(retryMs)}`, fields };
    }
    case 'spool-full': {
      const waiting = formatBytes(event.waitingBytes);
      return event.paused
        ? { level: 'error', text: `${waiting} wait for the store: the watch is paused (--spool-max-bytes)` }
        : { text: 'the spool has room again: the watch goes on' };
    }
    case 'warning':
      return { level: 'warn', text: event.text, fields: withHint(event.hint) };
  }
}

function inTime(ms: number): string {
  return ms === 0 ? 'at once' : `in ${formatDuration(Math.round(ms))}`;
}

function withHint(hint: string | undefined): Record<string, string> {
  return hint === undefined ? {} : { hint };
}
