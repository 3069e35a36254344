/** One whole process: wall time, CPU time and peak memory, from the kernel's own accounting. Linux only. */
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';

export interface Measured {
  readonly wallMs: number;
  readonly cpuMs: number;
  readonly peakRssBytes: number;
  readonly stdout: string;
}

const POLL_MS = 20;
const TICKS_PER_SECOND = 100;

export async function measure(
  command: string,
  args: readonly string[],
  env: NodeJS.ProcessEnv = {},
): Promise<Measured> {
  const startedMs = performance.now();
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'], env: { ...process.env, ...env } });
  let peak = 0;
  let cpuMs = 0;
  const poll = () => {
    const usage = child.pid === undefined ? undefined : readUsage(child.pid);
    if (usage === undefined) return;
    peak = Math.max(peak, usage.peakRssBytes);
    cpuMs = Math.max(cpuMs, usage.cpuMs);
  };
  const timer = setInterval(poll, POLL_MS);
  let stdout = '';
  let stderr = '';
  child.stdout.on('data', (chunk) => {
    stdout += chunk;
  });
  child.stderr.on('data', (chunk) => {
    stderr = (stderr + chunk).slice(-4000);
  });
  const code = await new Promise((resolve) => child.once('close', resolve));
  clearInterval(timer);
  if (code !== 0) throw new Error(`${command} ${args.join(' ')} ended with ${code}:\n${stderr}`);
  return { wallMs: performance.now() - startedMs, cpuMs, peakRssBytes: peak, stdout };
}

/** Undefined once the process is gone. */
function readUsage(pid: number): { peakRssBytes: number; cpuMs: number } | undefined {
  try {
    const status = readFileSync(`/proc/${pid}/status`, 'utf8');
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    const ticks = Number(fields[11]) + Number(fields[12]);
    const kib = Number(/VmHWM:\s+(\d+)/.exec(status)?.[1] ?? 0);
    return { peakRssBytes: kib * 1024, cpuMs: (ticks * 1000) / TICKS_PER_SECOND };
  } catch {
    return undefined;
  }
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  const [low, high] = [sorted[Math.ceil(sorted.length / 2) - 1] ?? 0, sorted[middle] ?? 0];
  return (low + high) / 2;
}

/** Runs the contestants in turn, `rounds` times, so that a machine that drifts drifts for all of them. */
export async function interleave(
  rounds: number,
  contestants: Readonly<Record<string, () => Promise<Measured>>>,
): Promise<Record<string, Measured[]>> {
  const results: Record<string, Measured[]> = Object.fromEntries(
    Object.keys(contestants).map((name) => [name, []]),
  );
  for (let round = 0; round < rounds; round++) {
    for (const [name, run] of Object.entries(contestants)) results[name]?.push(await run());
  }
  return results;
}
