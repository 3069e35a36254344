/** Several real etcds of one version that form a cluster from directories made for them, and one that joins later. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { EtcdEndpoint } from '../../src/etcd/endpoint.js';
import type { EtcdVersion } from './binaries.js';
import { type MemberFlags, TestEtcd } from './etcd.js';
import { keptPorts } from './ports.js';

/** "m1", "m2", … with peer URLs of their own, which a restore must know before anything listens there. */
export async function planMembers(count: number): Promise<MemberFlags[]> {
  const ports = await keptPorts(count);
  const named = ports.map((port, at) => ({ name: `m${at + 1}`, peerUrl: `http://127.0.0.1:${port}` }));
  const initialCluster = named.map(({ name, peerUrl }) => `${name}=${peerUrl}`).join(',');
  return named.map((member) => ({ ...member, initialCluster }));
}

const JOIN_TIMEOUT_MS = 30_000;
/** Else `member add` is refused for some seconds after the members have met. */
const flags = ['--strict-reconfig-check=false'];

export class TestCluster {
  readonly version: EtcdVersion;
  readonly members: TestEtcd[] = [];
  readonly #endpoints = new Map<TestEtcd, EtcdEndpoint>();

  private constructor(version: EtcdVersion) {
    this.version = version;
  }

  /** All at once: none is ready before most of them are. */
  static async start(
    version: EtcdVersion,
    plan: readonly MemberFlags[],
    dataDirs: readonly string[],
  ): Promise<TestCluster> {
    const cluster = new TestCluster(version);
    cluster.members.push(
      ...plan.map((member, at) => new TestEtcd(version, { member, flags, dataDir: dataDirs[at] as string })),
    );
    const started = await Promise.allSettled(cluster.members.map((member) => member.start()));
    const failed = started.find((outcome) => outcome.status === 'rejected');
    if (failed === undefined) return cluster;
    await cluster.destroy();
    throw failed.reason;
  }

  async endpoint(at: number): Promise<EtcdEndpoint> {
    const member = this.members[at] as TestEtcd;
    const known = this.#endpoints.get(member);
    if (known !== undefined) return known;
    const endpoint = await member.open();
    this.#endpoints.set(member, endpoint);
    return endpoint;
  }

  async endpoints(): Promise<EtcdEndpoint[]> {
    return Promise.all(this.members.map((_, at) => this.endpoint(at)));
  }

  /** Adds a learner and starts it on an empty directory. */
  async addLearner(member: Omit<MemberFlags, 'initialCluster'>, initialCluster: string): Promise<bigint> {
    const [first] = this.members;
    await untilAccepted(() =>
      (first as TestEtcd).ctl('member', 'add', member.name, '--learner', `--peer-urls=${member.peerUrl}`),
    );
    const joining = {
      ...member,
      initialCluster: `${initialCluster},${member.name}=${member.peerUrl}`,
      joins: true,
    };
    const learner = new TestEtcd(this.version, { member: joining, flags });
    this.members.push(learner);
    await learner.start();
    const endpoint = await this.endpoint(this.members.length - 1);
    return (await endpoint.status()).memberId;
  }

  /** Accepted once it has caught up. */
  async promote(id: bigint): Promise<void> {
    const [first] = this.members;
    await untilAccepted(() => (first as TestEtcd).ctl('member', 'promote', id.toString(16)));
  }

  async destroy(): Promise<void> {
    for (const endpoint of this.#endpoints.values()) endpoint.close();
    await Promise.all(this.members.map((member) => member.destroy()));
  }
}

async function untilAccepted(ask: () => Promise<unknown>): Promise<void> {
  const deadline = performance.now() + JOIN_TIMEOUT_MS;
  for (;;) {
    try {
      await ask();
      return;
    } catch (error) {
      if (performance.now() > deadline) throw error;
      await sleep(250);
    }
  }
}
