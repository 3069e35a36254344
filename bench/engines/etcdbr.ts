/** This program, as the checkout has built it (`npm run build`). */
import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { etcdBinary } from '../../test/servers/binaries.js';
import { workDirOfThisRun } from '../datasets/cache.js';
import type { Job } from '../measure.js';
import type { Engine, StoreSet, Task } from './engine.js';

export type Applier = 'native' | 'embedded';

export const ROOT = fileURLToPath(new URL('../..', import.meta.url));
/** The release whose etcd replays, and whose tools are the peers: the most widely run one. */
export const PEER_VERSION = '3.5.35';

export function etcdbr(applier: Applier, dist = join(ROOT, 'dist')): Engine {
  const program = join(dist, 'main.js');
  if (!existsSync(program)) throw new Error(`${program} is missing: npm run build`);
  const helps = new Map<string, string>();
  return {
    name: applier === 'native' ? 'etcdbr' : 'etcdbr, embedded applier',
    role: 'ours',
    job(task) {
      // The applier makes a difference for one verb; the others are the native engine's.
      if (applier === 'embedded' && task.verb !== 'restore') return undefined;
      if (task.verb === 'check') return checkJob(dist, task.db);
      const args = commandLine(task, applier, (command) => {
        const help = helps.get(command) ?? helpOf(program, command);
        helps.set(command, help);
        return help;
      });
      return Array.isArray(args) ? { command: program, args } : (args as string | undefined);
    },
  };
}

function commandLine(
  task: Task,
  applier: Applier,
  help: (command: string) => string,
): string[] | string | undefined {
  switch (task.verb) {
    case 'verify':
      return ['verify', '--file', task.snapshot];
    case 'verify-store':
      // What an earlier round has found sound would not be read again.
      return [
        'verify',
        ...storeFlags(task.set),
        ...(help('verify').includes('--state-dir') ? ['--state-dir', 'off'] : []),
      ];
    case 'full':
      return ['snapshot', '--once', 'full', '--endpoints', task.endpoint, ...localStore(task.to)];
    case 'watch':
      return ['snapshot', '--endpoints', task.endpoint, ...localStore(task.to)];
    case 'restore':
    case 'restore-base': {
      const flags = [
        '--data-dir',
        task.dataDir,
        ...storeFlags(task.set),
        '--etcd-binary',
        etcdBinary(PEER_VERSION),
      ];
      return hasApplier(help('restore'), applier)
        ? ['restore', ...flags, '--applier', applier]
        : `this build's restore has no applier "${applier}"`;
    }
    case 'get':
      return help('get') === ''
        ? 'this build has no command "get"'
        : ['get', task.key, '--value-only', ...storeFlags(task.set)];
    case 'compact':
      return help('compact') === ''
        ? 'this build has no command "compact"'
        : ['compact', ...storeFlags(task.set)];
    default:
      return undefined;
  }
}

/** The help shows a choice with its words, once it does something. */
function hasApplier(help: string, applier: Applier): boolean {
  return new RegExp(`--applier <[^>]*\\b${applier}\\b`).test(help);
}

/** "" when there is no such command: the whole program's help is shown then. */
function helpOf(program: string, command: string): string {
  const text = execFileSync(program, [command, '--help'], { encoding: 'utf8' });
  return text.startsWith(`Usage: etcdbr ${command}`) ? text : '';
}

function storeFlags({ container }: StoreSet): string[] {
  return ['--store-container', container, '--snapstore-temp-directory', join(workDirOfThisRun(), 'tmp')];
}

function localStore(to: string): string[] {
  return ['--store-container', join(to, 'store'), '--snapstore-temp-directory', join(to, 'tmp')];
}

/** No command checks a bare database, so the native verbs are called as `verify` calls them: pages, then records. */
function checkJob(dist: string, db: string): Job {
  const native = new URL(`file://${join(dist, 'native', 'index.js')}`).href;
  const code = `const { checkDb, checkMvcc } = await import(${JSON.stringify(native)});
    const pages = await checkDb(${JSON.stringify(db)}, { threads: 2, maxFindings: 1 });
    const records = await checkMvcc(${JSON.stringify(db)}, { maxFindings: 1 });
    process.exitCode = pages.findingsTotal + records.findingsTotal === 0 ? 0 : 1;`;
  return { command: process.execPath, args: ['--input-type=module', '-e', code] };
}
