/** `verify`: objects of a store, or one file. */
import { loggingFlags } from '../config/logging.js';
import { outputFlags, parseOutput } from '../config/output.js';
import { storeFlags } from '../config/store.js';
import { parseVerifyConfig, verifyFlags } from '../config/verify.js';
import { BackupError } from '../errors.js';
import type { ObjectVerdict } from '../validator/verdict.js';
import { verifyFile } from '../validator/verify-file.js';
import { verifySet } from '../validator/verify-set.js';
import type { Command, CommandContext } from './command.js';
import { describePlan } from './describe-plan.js';
import { openConfiguredStore, whereToLook } from './store-access.js';

export const verifyCommand: Command = {
  name: 'verify',
  description:
    'Verifies the named objects, or all of them and the chain that they make: digests, bbolt structure, mvcc records, ' +
    'HashKV, order of revisions. With --file: one snapshot file. Changes nothing. Exit code 4 when something is wrong.',
  operands: '[NAME...]',
  flags: [storeFlags, verifyFlags, outputFlags, loggingFlags],
  run: verify,
};

async function verify(context: CommandContext): Promise<void> {
  const config = parseVerifyConfig(context.given);
  return config.file === undefined
    ? verifyStore(context)
    : verifyOneFile(context, config.file, config.skipHashCheck);
}

async function verifyStore(context: CommandContext): Promise<void> {
  const { out, log, signal, operands } = context;
  const { json } = parseOutput(context.given);
  const opened = await openConfiguredStore(context);
  const verdict = await verifySet(opened.store, {
    names: operands,
    tempDir: opened.config.tempDir,
    signal,
    onVerdict: (one) => json || tell(context, one),
    onWarning: (text) => log.warn(text),
  });
  if (verdict.objects.length === 0) {
    const hint = await whereToLook(opened, signal);
    throw new BackupError('NOTHING_TO_RESTORE', 'there are no backups', {
      op: 'verify',
      object: opened.store.location,
      hint,
    });
  }
  const damaged = verdict.objects.filter(({ problems }) => problems.length > 0);
  if (json) out.json({ location: opened.store.location, ...verdict });
  else if (verdict.plan !== undefined) for (const line of describePlan(verdict.plan)) out.text(line);
  if (damaged.length > 0) {
    throw new BackupError('CORRUPT', `${damaged.length} of ${verdict.objects.length} objects are damaged`, {
      op: 'verify',
    });
  }
  const { plan } = verdict;
  if (plan?.kind === 'gap')
    throw new BackupError('REVISION_GAP', 'the chain is not complete', { op: 'verify' });
  if (plan?.kind === 'fork') throw new BackupError('FORK', 'the store holds two histories', { op: 'verify' });
}

function tell({ out }: CommandContext, { object, revision, records, problems }: ObjectVerdict): void {
  if (problems.length === 0) out.text(`ok       ${object}  revision ${revision}, ${records} records`);
  else for (const problem of problems) out.text(`DAMAGED  ${object}: ${problem}`);
}

async function verifyOneFile(context: CommandContext, path: string, skipHashCheck: boolean): Promise<void> {
  const { out, signal } = context;
  const verdict = await verifyFile(path, { skipHashCheck, signal });
  if (parseOutput(context.given).json) out.json(verdict);
  else tell(context, verdict);
  if (verdict.problems.length > 0) {
    throw new BackupError('CORRUPT', `${verdict.problems.length} problems were found`, {
      op: 'verify',
      object: path,
    });
  }
}
