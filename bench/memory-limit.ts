/** A control group with a hard memory limit, page cache included: what goes above it is killed. */
import { existsSync } from 'node:fs';
import { mkdir, rmdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Job } from './measure.js';

/** Version 1 has a hierarchy for memory alone. */
const V1 = '/sys/fs/cgroup/memory';
const V2 = '/sys/fs/cgroup';

export class LimitedGroup {
  private constructor(private readonly dir: string) {}

  /** The reason where this machine gives us none. */
  static async create(bytes: number): Promise<LimitedGroup | string> {
    const isV1 = existsSync(join(V1, 'memory.limit_in_bytes'));
    const dir = join(isV1 ? V1 : V2, `etcdbr-bench-${process.pid}`);
    try {
      await mkdir(dir);
      await writeFile(join(dir, isV1 ? 'memory.limit_in_bytes' : 'memory.max'), `${bytes}`);
      return new LimitedGroup(dir);
    } catch (error) {
      await rmdir(dir).catch(() => undefined);
      return `no control group can be made: ${(error as Error).message}`;
    }
  }

  /** The shell joins the group and becomes the program. */
  wrap({ command, args, env }: Job): Job {
    const join_ = `echo $$ > ${join(this.dir, 'cgroup.procs')} && exec "$@"`;
    return {
      command: 'sh',
      args: ['-c', join_, 'sh', command, ...args],
      ...(env === undefined ? {} : { env }),
    };
  }

  remove(): Promise<void> {
    return rmdir(this.dir);
  }
}
