/** Which applier a restore uses, and the etcd that one of them needs. */
import type { RestoreConfig } from '../config/restore.js';
import { type EtcdBinary, probeEtcdBinary } from '../etcd/etcd-binary.js';
import type { Plan } from '../snapshot/plan.js';
import type { Applier } from './applier.js';
import type { Base } from './base.js';
import { EmbeddedApplier } from './embedded-applier.js';
import { NativeApplier } from './native-applier.js';
import type { RestoreObserver } from './observer.js';
import { checkReadable } from './replay-version.js';
import { rewritingOf } from './rewriting.js';
import { RewritingApplier } from './rewriting-applier.js';

const DEFAULT_ETCD = 'etcd';

interface Wish extends Pick<RestoreConfig, 'applier' | 'etcdBinary' | 'etcdVersion' | 'pack' | 'compact'> {
  readonly observer: RestoreObserver;
}

export class Appliers {
  readonly #wish: Wish;
  #binary: EtcdBinary | undefined;

  constructor(wish: Wish) {
    this.#wish = wish;
  }

  /** A missing etcd is told before gigabytes are fetched. */
  async prepare(plan: Plan): Promise<void> {
    if (this.#needsEtcd(plan)) await this.#probe();
  }

  async choose(plan: Plan, base: Base): Promise<Applier> {
    const rewriting = rewritingOf(this.#wish, base);
    const embedded = this.#needsEtcd(plan) ? await this.#embedded(base) : undefined;
    if (rewriting !== undefined)
      return new RewritingApplier(rewriting, this.#wish.observer, { inner: embedded });
    return embedded ?? new NativeApplier();
  }

  async #embedded(base: Base): Promise<Applier> {
    const binary = await this.#probe();
    checkReadable(base.info, binary);
    return new EmbeddedApplier(binary);
  }

  /** Without deltas there is nothing that an etcd could replay. */
  #needsEtcd({ deltas }: Plan): boolean {
    return this.#wish.applier === 'embedded' && deltas.length > 0;
  }

  async #probe(): Promise<EtcdBinary> {
    this.#binary ??= await probeEtcdBinary(this.#wish.etcdBinary ?? DEFAULT_ETCD);
    return this.#binary;
  }
}
