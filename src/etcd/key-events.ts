/**
 * Whether a key was deleted by one certain revision. Reads cannot tell when the same transaction had put it: the key is
 * there neither before nor after. A watch that begins at the revision delivers the deletion itself.
 */
import { onAbort, raceAbort } from '../base/abort.js';
import { withTimeout } from '../base/watchdog.js';
import { BackupError, isBackupError } from '../errors.js';
import { RawChannel } from './channel.js';
import type { EtcdConnection } from './connection.js';
import { streamFailure } from './failure.js';
import { decodeKeyEvents, encodeWatchKey } from './proto.js';
import { ReadAhead } from './read-ahead.js';

const WINDOW_BYTES = 64 * 1024;
/** Where nothing has happened to the key since, etcd has nothing to say. */
const SILENCE_MS = 3_000;
const OP = 'watch';

export interface DeletedAtOptions {
  readonly signal?: AbortSignal | undefined;
}

/**
 * True only when an endpoint delivers just that deletion; false when all that it says of the key from there on is
 * something else, or nothing. COMPACTED when the revision is gone; UNAVAILABLE when it cannot be asked.
 */
export async function wasDeletedAt(
  connection: EtcdConnection,
  endpoint: string,
  key: Uint8Array,
  revision: bigint,
  { signal }: DeletedAtOptions = {},
): Promise<boolean> {
  const channel = await RawChannel.open(connection, endpoint, { windowBytes: WINDOW_BYTES });
  const silence = new BackupError('TIMEOUT', 'etcd said nothing of the key', { op: OP, object: endpoint });
  try {
    return await withTimeout({ ms: SILENCE_MS, reason: () => silence, signal }, (limited) =>
      look(channel, key, revision, limited),
    );
  } catch (error) {
    if (error === silence) return false;
    throw isBackupError(error) ? error : streamFailure(error, OP, endpoint);
  } finally {
    channel.close();
  }
}

async function look(
  channel: RawChannel,
  key: Uint8Array,
  revision: bigint,
  signal: AbortSignal | undefined,
): Promise<boolean> {
  const readAhead = new ReadAhead(1);
  const opening = channel.duplex('/etcdserverpb.Watch/Watch', { headers: {}, readAhead });
  const stream = await raceAbort(opening, signal);
  const unhook = onAbort(signal, () => stream.cancel());
  try {
    stream.write(encodeWatchKey(key, revision));
    for await (const message of stream as AsyncIterable<Buffer>) {
      const { canceled, compactRevision, events } = decodeKeyEvents(message);
      if (canceled) throw refusal(channel.endpoint, revision, compactRevision);
      if (events.some((event) => event.deleted && event.modRevision === revision)) return true;
      if (events.some((event) => event.modRevision > revision)) return false;
      readAhead.taken();
    }
    throw new BackupError('UNAVAILABLE', 'etcd ended the watch', { op: OP, object: channel.endpoint });
  } catch (error) {
    signal?.throwIfAborted();
    throw error;
  } finally {
    unhook();
    stream.cancel();
  }
}

function refusal(endpoint: string, revision: bigint, compactRevision: bigint): BackupError {
  return compactRevision > 0n
    ? new BackupError('COMPACTED', `revision ${revision} is gone`, { op: OP, object: endpoint })
    : new BackupError('UNAVAILABLE', 'etcd cancelled the watch', { op: OP, object: endpoint });
}
