/**
 * Names of unfinished files. They begin with "." (the Go tool takes a stray `Full-….gz.tmp` for the newest full)
 * and lie beside their target, so that publishing is a link within one directory:
 *
 *   .tmp-<name, shortened>-<machine>.<pid>.<start time of the process>-<random>
 *
 * `machine` stands for host, boot and pid namespace: only within one of them do pid and start time prove that the
 * writer is gone. Elsewhere (another node on NFS, another container) the time since the last write decides.
 */
import { createHash, randomBytes } from 'node:crypto';
import { readFileSync, readlinkSync } from 'node:fs';
import { hostname } from 'node:os';

/** How long a file of a writer that cannot be asked has been silent before it is taken for left behind. */
export const SILENT_TEMP_MS = 60 * 60 * 1000;

/** Leaves room for the rest of the name within the 255 bytes of a file name. */
const SHOWN_NAME_BYTES = 160;

const TEMP_NAME = /^\.tmp-.*-([0-9a-f]{8})\.(\d{1,10})\.(\d{1,20})-[0-9a-f]{12}$/su;

export interface Owner {
  readonly machine: string;
  readonly pid: number;
  readonly startTime: string;
}

export function tempName(name: string, owner: Owner = thisProcess()): string {
  const shown = Buffer.byteLength(name) <= SHOWN_NAME_BYTES ? name : shortDigest(name, 32);
  const by = `${owner.machine}.${owner.pid}.${owner.startTime}`;
  return `.tmp-${shown}-${by}-${randomBytes(6).toString('hex')}`;
}

/** Who wrote this file; undefined when the name is not ours, and the file none of our business. */
export function tempOwner(fileName: string): Owner | undefined {
  const [, machine, pid, startTime] = TEMP_NAME.exec(fileName) ?? [];
  if (machine === undefined || pid === undefined || startTime === undefined) return undefined;
  return { machine, pid: Number(pid), startTime };
}

/** Whether the writer's file was left behind, given how long nobody has written to it. */
export function isLeftBehind(owner: Owner, silentMs: number): boolean {
  if (owner.machine !== thisProcess().machine) return silentMs > SILENT_TEMP_MS;
  return !isAlive(owner);
}

let self: Owner | undefined;

export function thisProcess(): Owner {
  self ??= { machine: machineId(), pid: process.pid, startTime: startTimeOf('self') ?? '0' };
  return self;
}

function isAlive(owner: Owner): boolean {
  try {
    process.kill(owner.pid, 0);
  } catch (error) {
    // EPERM: there is such a process, of somebody else.
    if (error instanceof Error && 'code' in error && error.code === 'ESRCH') return false;
  }
  const startTime = startTimeOf(String(owner.pid));
  return startTime === undefined || startTime === owner.startTime;
}

function machineId(): string {
  const parts = [hostname(), readOr('/proc/sys/kernel/random/boot_id'), linkOr('/proc/self/ns/pid')];
  return shortDigest(parts.join('\0'), 8);
}

/** Field 22 of /proc/<pid>/stat, counted behind the command, which may hold spaces and brackets. */
function startTimeOf(pid: string): string | undefined {
  const stat = readOr(`/proc/${pid}/stat`);
  const field = stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19];
  return field !== undefined && /^\d+$/.test(field) ? field : undefined;
}

function readOr(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}

function linkOr(path: string): string {
  try {
    return readlinkSync(path);
  } catch {
    return '';
  }
}

function shortDigest(text: string, digits: number): string {
  return createHash('sha256').update(text).digest('hex').slice(0, digits);
}
