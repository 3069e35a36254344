/**
 * An engine is one way to do a job: this program, a peer, or the physical floor (what the machine needs for the bare
 * bytes). All are asked alike and answer with a process to run, so a workload names tasks, never programs.
 */
import type { Job } from '../measure.js';
import type { Role } from '../results.js';

export interface StoreSet {
  /** Container with the objects below v2/. Its parent stands for the Go tool's home directory. */
  readonly container: string;
  /** What only the Go tool's formats hold: gzip and JSON. */
  readonly gardener: boolean;
}

export type Task =
  | { readonly verb: 'check'; readonly db: string }
  | { readonly verb: 'verify'; readonly snapshot: string }
  | { readonly verb: 'verify-store'; readonly set: StoreSet }
  | { readonly verb: 'full'; readonly endpoint: string; readonly to: string }
  | { readonly verb: 'watch'; readonly endpoint: string; readonly to: string }
  | { readonly verb: 'restore'; readonly set: StoreSet; readonly dataDir: string }
  /** A base without deltas: the same snapshot as an object of a store, and as the plain file that etcdutl takes. */
  | {
      readonly verb: 'restore-base';
      readonly set: StoreSet;
      readonly snapshot: string;
      readonly dataDir: string;
    }
  | { readonly verb: 'get'; readonly set: StoreSet; readonly key: string }
  /** Writes into the set. */
  | { readonly verb: 'compact'; readonly set: StoreSet }
  | { readonly verb: 'read'; readonly file: string }
  | { readonly verb: 'copy'; readonly file: string; readonly to: string }
  | { readonly verb: 'digest'; readonly file: string }
  | { readonly verb: 'decompress'; readonly packed: string };

export interface Engine {
  readonly name: string;
  readonly role: Role;
  /** A process that does the task, a text that says why it cannot now, undefined when it never does such a thing. */
  job(task: Task): Job | string | undefined;
}
