/** What two builds are compared at: short runs, each with floor work of the same bytes. */
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { type BackupSet, backupSet } from '../datasets/store.js';
import type { Engine } from '../engines/engine.js';
import { copying, decompressing, digesting } from '../engines/floor.js';
import type { Job } from '../measure.js';
import type { Size } from '../options.js';

export interface Case {
  readonly name: string;
  readonly floor: Job;
  /** The build's process, or why it cannot. */
  job(build: Engine): Job | string;
  /** Before each run. */
  reset(): Promise<void>;
}

export async function comparedCases({ baseMib, events }: Size, workDir: string): Promise<Case[]> {
  const set = await backupSet(baseMib, events);
  return [verifyFile(set), verifyStore(set), restore(set, workDir)];
}

function verifyFile({ snapshot }: BackupSet): Case {
  return {
    name: 'verify of a snapshot, to sha256',
    floor: jobOf(digesting.job({ verb: 'digest', file: snapshot })),
    job: (build) => build.job({ verb: 'verify', snapshot }) ?? 'it has no command "verify"',
    reset: async () => undefined,
  };
}

function verifyStore({ ours: set, packedFull }: BackupSet): Case {
  return {
    name: 'verify of a store, to decompression',
    floor: jobOf(decompressing.job({ verb: 'decompress', packed: packedFull })),
    job: (build) => build.job({ verb: 'verify-store', set }) ?? 'it has no command "verify"',
    reset: async () => undefined,
  };
}

function restore({ ours: set, snapshot }: BackupSet, workDir: string): Case {
  const dataDir = join(workDir, 'restored');
  return {
    name: 'restore, to copy + fsync',
    floor: jobOf(copying.job({ verb: 'copy', file: snapshot, to: join(workDir, 'copy') })),
    job: (build) => build.job({ verb: 'restore', set, dataDir }) ?? 'it has no command "restore"',
    reset: () => rm(dataDir, { recursive: true, force: true }),
  };
}

function jobOf(job: Job | string | undefined): Job {
  if (typeof job === 'object') return job;
  throw new Error(`a floor that cannot run: ${job}`);
}
