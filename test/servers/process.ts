/** Child processes and temp dirs of tests that end with the test process, however that ends. */
import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const children = new Set<ChildProcess>();
const dirs = new Set<string>();

process.on('exit', () => {
  for (const child of children) child.kill('SIGKILL');
  for (const dir of dirs) rmSync(dir, { recursive: true, force: true });
});

/** The kernel kills the child when this process dies (`setpriv`); the exit hook above does where that is missing. */
export function spawnBound(command: string, args: readonly string[], options: SpawnOptions): ChildProcess {
  const setpriv = '/usr/bin/setpriv';
  const child = existsSync(setpriv)
    ? spawn(setpriv, ['--pdeathsig', 'KILL', command, ...args], options)
    : spawn(command, args, options);
  children.add(child);
  child.once('exit', () => children.delete(child));
  return child;
}

/** Resolves when the child is gone; at once when it is already. */
export async function exited(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  await new Promise((resolve) => child.once('exit', resolve));
}

export function tempDir(label: string): string {
  const dir = mkdtempSync(join(tmpdir(), `etcdbr-${label}-`));
  dirs.add(dir);
  return dir;
}

export async function removeTempDir(dir: string): Promise<void> {
  await rm(dir, { recursive: true, force: true });
  dirs.delete(dir);
}
