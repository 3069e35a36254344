/** Every command, in the order of the help. */
import type { Command } from './command.js';
import { inspectCommand } from './inspect.js';
import { listCommand } from './list.js';
import { restoreCommand } from './restore.js';
import { snapshotCommand } from './snapshot.js';
import { verifyCommand } from './verify.js';

export const commands: readonly Command[] = [
  snapshotCommand,
  restoreCommand,
  listCommand,
  verifyCommand,
  inspectCommand,
];
