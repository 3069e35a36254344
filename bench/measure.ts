/**
 * One whole process and everything it starts: wall time, CPU time and peak memory, from the kernel's own accounting.
 * Linux only.
 *
 * CPU    what this process has inherited from children that it waited for (cutime and cstime), before and after: the
 *        child and all that it waited for in turn, exact to a tick. No other child may end meanwhile.
 * Memory resident bytes of the whole tree, added up every 20 ms; never less than the child's own high-water mark.
 */
import { spawn } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';

export interface Job {
  readonly command: string;
  readonly args: readonly string[];
  readonly env?: NodeJS.ProcessEnv;
}

export interface Measured {
  readonly wallMs: number;
  readonly cpuMs: number;
  readonly peakRssBytes: number;
  readonly stdout: string;
}

const POLL_MS = 20;
const MS_PER_TICK = 10;
const STDERR_CHARS = 4000;

export async function measure({ command, args, env = {} }: Job): Promise<Measured> {
  const cpuBeforeMs = inheritedCpuMs();
  const startedMs = performance.now();
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'], env: { ...process.env, ...env } });
  let peakRssBytes = 0;
  const poll = () => {
    if (child.pid !== undefined) peakRssBytes = Math.max(peakRssBytes, residentBytes(child.pid));
  };
  child.once('spawn', poll);
  const timer = setInterval(poll, POLL_MS);
  let stdout = '';
  let stderr = '';
  child.stdout.on('data', (chunk) => {
    stdout += chunk;
  });
  child.stderr.on('data', (chunk) => {
    stderr = (stderr + chunk).slice(-STDERR_CHARS);
  });
  const ended = await new Promise<string | number | null>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code, signal) => resolve(code ?? signal));
  }).finally(() => clearInterval(timer));
  const wallMs = performance.now() - startedMs;
  if (ended !== 0) throw new Error(`${command} ${args.join(' ')} ended with ${ended}:\n${stderr}`);
  return { wallMs, cpuMs: inheritedCpuMs() - cpuBeforeMs, peakRssBytes, stdout };
}

/** Resident now, with all descendants; for the root alone its high-water mark, if that is more. 0 once it is gone. */
export function residentBytes(root: number): number {
  const all = [root, ...descendants(root)];
  const now = all.reduce((sum, pid) => sum + statusBytes(pid, 'VmRSS'), 0);
  return Math.max(now, statusBytes(root, 'VmHWM'));
}

function descendants(pid: number): number[] {
  const children = unlessGone([], () =>
    readdirSync(`/proc/${pid}/task`).flatMap((task) =>
      readFileSync(`/proc/${pid}/task/${task}/children`, 'utf8').split(' ').filter(Boolean).map(Number),
    ),
  );
  return children.flatMap((child) => [child, ...descendants(child)]);
}

function statusBytes(pid: number, field: string): number {
  const status = unlessGone('', () => readFileSync(`/proc/${pid}/status`, 'utf8'));
  return Number(new RegExp(`^${field}:\\s+(\\d+) kB`, 'm').exec(status)?.[1] ?? 0) * 1024;
}

function inheritedCpuMs(): number {
  const stat = readFileSync('/proc/self/stat', 'utf8');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[13]) + Number(fields[14])) * MS_PER_TICK;
}

function unlessGone<T>(gone: T, read: () => T): T {
  try {
    return read();
  } catch {
    return gone;
  }
}
