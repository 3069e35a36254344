/**
 * Every command, in the order of the help. A command is loaded when it is called: what only a restore needs would cost
 * a sidecar that takes backups some MiB for its whole life.
 */
import type { Command } from './command.js';

export interface CommandEntry {
  readonly name: string;
  readonly summary: string;
  load(): Promise<Command>;
}

export const commands: readonly CommandEntry[] = [
  {
    name: 'snapshot',
    summary: 'back an etcd up, once or continuously',
    load: async () => (await import('./snapshot.js')).snapshotCommand,
  },
  {
    name: 'restore',
    summary: 'restore the newest state into a data directory',
    load: async () => (await import('./restore.js')).restoreCommand,
  },
  {
    name: 'compact',
    summary: 'merge base and deltas of a store into one new full',
    load: async () => (await import('./compact.js')).compactCommand,
  },
  {
    name: 'list',
    summary: 'list the backups in a store',
    load: async () => (await import('./list.js')).listCommand,
  },
  {
    name: 'verify',
    summary: 'read backups through and check everything that can be checked',
    load: async () => (await import('./verify.js')).verifyCommand,
  },
  {
    name: 'inspect',
    summary: 'show what a file or an object of a store holds',
    load: async () => (await import('./inspect.js')).inspectCommand,
  },
  {
    name: 'get',
    summary: 'print keys as they were at a revision, straight out of backups',
    load: async () => (await import('./get.js')).getCommand,
  },
  {
    name: 'history',
    summary: 'print every change of a key that the backups hold',
    load: async () => (await import('./history.js')).historyCommand,
  },
  {
    name: 'diff',
    summary: 'print what changed between two revisions',
    load: async () => (await import('./diff.js')).diffCommand,
  },
  {
    name: 'export',
    summary: 'print all keys for scripts, one JSON object a line',
    load: async () => (await import('./export.js')).exportCommand,
  },
];
