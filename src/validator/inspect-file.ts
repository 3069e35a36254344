/** What a local file says about itself. The file is only read. */
import { resolve } from 'node:path';
import { BackupError, isBackupError } from '../errors.js';
import { identifyFile, inspectDb, verifyDelta } from '../native/index.js';

export interface InspectOptions {
  readonly signal?: AbortSignal | undefined;
}

export async function inspectFile(path: string, options: InspectOptions = {}): Promise<object> {
  const file = resolve(path);
  const kind = await identifyFile(file, options);
  if (kind === 'bbolt') return { file, kind: 'database', ...(await inspectDb(file, options)) };
  try {
    const { format, summary, header, leases } = await verifyDelta(file, file, options);
    return { file, kind: `delta (${format})`, ...summary, ...header, leases: leases.length };
  } catch (error) {
    if (!isBackupError(error)) throw error;
    throw new BackupError('UNSUPPORTED', `is neither a database nor a delta: it is ${kind}`, {
      op: 'inspect',
      object: file,
      hint: 'a packed full of a store is inspected by its name: inspect NAME --store-container …',
      cause: error,
    });
  }
}
