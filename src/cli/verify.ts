/** `verify`: objects of a store and their chain, or one file. */
import { stat } from 'node:fs/promises';
import { dataDirFlags, parseDataDirConfig } from '../config/data-dir.js';
import { loggingFlags } from '../config/logging.js';
import { outputFlags, parseOutput } from '../config/output.js';
import { parseStoreConfig, storeFlags } from '../config/store.js';
import { parseVerifyConfig, type VerifyConfig, verifyFlags } from '../config/verify.js';
import { BackupError } from '../errors.js';
import type { Keeper } from '../validator/memory.js';
import { StateFile } from '../validator/state-file.js';
import { StoredResults } from '../validator/stored-results.js';
import type { SetVerdict } from '../validator/verdict.js';
import { verifyFile } from '../validator/verify-file.js';
import { verifySet } from '../validator/verify-set.js';
import { answerOnce } from './answer-once.js';
import type { Command, CommandContext } from './command.js';
import { chainLines, deepLine, objectLines, totalsLine } from './describe-verdict.js';
import { type OpenedStore, openConfiguredStore, whereToLook } from './store-access.js';
import { type TrialReport, trialLine, trialRestore } from './trial-restore.js';
import { verifyDataDirCommand } from './verify-data-dir.js';

export const verifyCommand: Command = {
  name: 'verify',
  description:
    'Verifies the named objects, or all of them and the chain that they make: digests, bbolt structure, mvcc records, ' +
    'HashKV, order of revisions, manifests. Objects that an earlier run found sound are not read again while name, ' +
    'length, time and manifest stay the same; named ones always are. With --deep each full is also held against the ' +
    'full before it and the deltas between them. With --trial-restore a real etcd is started on the newest state, in ' +
    'private, and asked. With --file: one local file, a snapshot or an object of a store. With --data-dir: the data ' +
    'directory of a stopped etcd, compared with the store that is named, if any. Changes nothing in the store, but ' +
    'with --remember. Ctrl-C keeps what is done. Exit code 4 when something is wrong.',
  operands: '[NAME...]',
  flags: [storeFlags, verifyFlags, dataDirFlags, outputFlags, loggingFlags],
  run: verify,
};

async function verify(context: CommandContext): Promise<void> {
  const dataDir = parseDataDirConfig(context.given);
  if (dataDir !== undefined) return verifyDataDirCommand(context, dataDir);
  const config = parseVerifyConfig(context.given);
  if (config.deep && (config.file !== undefined || context.operands.length > 0)) {
    throw new BackupError('USAGE', 'is about a whole store, not about single objects', { object: '--deep' });
  }
  return config.file === undefined
    ? verifyStore(context, config)
    : verifyOneFile(context, config.file, config);
}

async function verifyStore(context: CommandContext, config: VerifyConfig): Promise<void> {
  const { out, progress } = context;
  const { json } = parseOutput(context.given);
  const opened = await openConfiguredStore(context);
  const verdict = await verifyObjects(context, config, opened, json);
  progress.end();
  if (verdict.objects.length === 0) {
    throw new BackupError('NOTHING_TO_RESTORE', 'there are no backups', {
      op: 'verify',
      object: opened.store.location,
      hint: await whereToLook(opened, context.signal),
    });
  }
  const damage = damageOf(verdict);
  const trial = config.trialRestore && damage === undefined ? tryRestore(context, opened, config) : undefined;
  const outcome = await trial;
  if (json) out.json({ location: opened.store.location, ...verdict, trial: outcome?.report ?? null });
  else {
    for (const line of chainLines(verdict)) out.text(line);
    out.text(totalsLine(verdict));
    if (outcome?.report !== undefined) out.text(trialLine(outcome.report));
    else if (config.trialRestore && damage !== undefined) out.text('trial restore: not tried, see above');
  }
  const failure = damage ?? outcome?.error;
  if (failure !== undefined) throw failure;
}

/** Its failure is told after the verdict. */
async function tryRestore(
  context: CommandContext,
  opened: OpenedStore,
  config: VerifyConfig,
): Promise<{ readonly report?: TrialReport; readonly error?: unknown }> {
  try {
    return { report: await trialRestore(context, opened, config) };
  } catch (error) {
    return { error };
  } finally {
    context.progress.end();
  }
}

async function verifyObjects(
  context: CommandContext,
  config: VerifyConfig,
  { store, config: settings }: OpenedStore,
  json: boolean,
): Promise<SetVerdict> {
  const { out, log, signal, operands, progress } = context;
  const { tempDir } = settings;
  const onNote = (text: string) => log.info(text);
  const tell = (lines: readonly string[]) => {
    if (json) return;
    progress.clear();
    for (const line of lines) out.text(line);
  };
  let inStore: StoredResults | undefined;
  const keepers = ({ verified: keys }: { readonly verified: readonly string[] }): readonly Keeper[] => {
    const { stateDir, remember } = config;
    const inFile = stateDir && new StateFile({ dir: stateDir, location: store.location, onNote });
    inStore = remember ? new StoredResults(store, { keys, onNote, signal }) : undefined;
    return [inFile, inStore].filter((keeper) => typeof keeper === 'object');
  };
  try {
    return await verifySet(store, {
      ...config,
      ...{ names: operands, tempDir, keepers, signal },
      answer: (question) => answerOnce(context, settings, question),
      onVerdict: (one) => tell(objectLines(one)),
      onCompared: (one) => tell([deepLine(one)]),
      onWarning: (text) => log.warn(text),
      onRecords: (_, records) => progress.update('compare', records, undefined, 'events'),
      onProgress: (done, total) => progress.update('verify', done, total, 'bytes'),
    });
  } finally {
    await inStore?.write(Date.now());
  }
}

/** What is wrong first of all. */
function damageOf({ objects, manifests, chain, deep }: SetVerdict): BackupError | undefined {
  const op = 'verify';
  const damaged = objects.filter(({ problems }) => problems.length > 0);
  if (damaged.length > 0) {
    return new BackupError('CORRUPT', `${damaged.length} of ${objects.length} objects are damaged`, { op });
  }
  const differing = deep.filter(({ outcome }) => outcome === 'differs').length;
  if (differing > 0) {
    const what = `${differing} of ${deep.length} fulls are not what base and deltas make`;
    return new BackupError('MISMATCH', what, { op });
  }
  const { plan } = chain ?? {};
  if (plan?.kind === 'gap') return new BackupError('REVISION_GAP', 'the chain is not complete', { op });
  if (plan?.kind === 'fork') return new BackupError('FORK', 'the store holds two histories', { op });
  if (plan?.kind === 'nothing')
    return new BackupError('CORRUPT', `nothing can be restored: ${plan.reason}`, { op });
  const problems = [...manifests, ...(chain?.problems ?? [])];
  if (problems.length === 0) return undefined;
  const what = `${problems.length} manifests are damaged or contradict what is there`;
  return new BackupError('CORRUPT', what, { op });
}

async function verifyOneFile(
  context: CommandContext,
  path: string,
  { skipHashCheck }: Pick<VerifyConfig, 'skipHashCheck'>,
): Promise<void> {
  const { out, signal, progress } = context;
  const bytes = await stat(path).then(
    ({ size }) => size,
    () => 0,
  );
  const verdict = await verifyFile(path, {
    ...{ skipHashCheck, signal, tempDir: parseStoreConfig(context.given).tempDir },
    onProgress: (share) => progress.update('verify', Math.round(share * bytes), bytes, 'bytes'),
  });
  progress.end();
  if (parseOutput(context.given).json) out.json(verdict);
  else for (const line of objectLines({ ...verdict, remembered: false, checkedAtMs: 0 })) out.text(line);
  if (verdict.problems.length > 0) {
    throw new BackupError('CORRUPT', `${verdict.problems.length} problems were found`, {
      op: 'verify',
      object: path,
    });
  }
}
