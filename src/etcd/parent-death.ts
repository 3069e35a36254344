/**
 * Child processes that end with this one, also when it is killed. `setpriv --pdeathsig` asks the kernel for that; it
 * counts from the thread that started the child, so children are started on the main thread. Where it is missing
 * (busybox), a shell waits for the end of a pipe that only we hold open, and kills the child then.
 */
import { type ChildProcess, execFile, type SpawnOptions, spawn } from 'node:child_process';
import { once } from 'node:events';
import { promisify } from 'node:util';

/** Starts `command` in a session of its own: a Ctrl-C at the terminal is ours to handle. */
export async function spawnBoundToParent(
  command: string,
  args: readonly string[],
  options: SpawnOptions,
): Promise<ChildProcess> {
  const detached = { ...options, detached: true };
  const child = (await hasPdeathsig())
    ? spawn('setpriv', ['--pdeathsig', 'KILL', '--', command, ...args], detached)
    : guarded(spawn(command, args, detached));
  const killChild = () => child.kill('SIGKILL');
  process.once('exit', killChild);
  child.once('exit', () => process.removeListener('exit', killChild));
  if (child.pid === undefined) await once(child, 'spawn');
  return child;
}

let pdeathsig: Promise<boolean> | undefined;

function hasPdeathsig(): Promise<boolean> {
  pdeathsig ??= promisify(execFile)('setpriv', ['--pdeathsig', 'KILL', '--', 'true']).then(
    () => true,
    () => false,
  );
  return pdeathsig;
}

function guarded(child: ChildProcess): ChildProcess {
  if (child.pid === undefined) return child;
  const guard = spawn('/bin/sh', ['-c', 'read _; kill -9 "$0"', String(child.pid)], {
    stdio: ['pipe', 'ignore', 'ignore'],
    detached: true,
  });
  guard.on('error', () => undefined);
  guard.unref();
  child.once('exit', () => guard.kill('SIGKILL'));
  return child;
}
