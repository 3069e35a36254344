/** Makes backup sets of a live etcd by hand: any full under any name, any range of revisions as a delta. */
import { randomUUID } from 'node:crypto';
import { copyFile, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { EtcdClient } from '../../src/etcd/client.js';
import type { EtcdEndpoint } from '../../src/etcd/endpoint.js';
import { openWatch } from '../../src/etcd/watch.js';
import { DeltaWriter, exportDelta } from '../../src/native/index.js';
import { formatName } from '../../src/snapshot/name.js';
import type { TestEtcd } from '../servers/etcd.js';

const REACHED_MS = 60_000;

export class Recorder {
  readonly etcd: TestEtcd;
  readonly endpoint: EtcdEndpoint;
  readonly dir: string;
  /** Of the next object: later ones are newer. */
  secs: number;

  private constructor(etcd: TestEtcd, endpoint: EtcdEndpoint, dir: string, secs: number) {
    this.etcd = etcd;
    this.endpoint = endpoint;
    this.dir = dir;
    this.secs = secs;
  }

  static async open(etcd: TestEtcd, dir: string, secs = 1_700_000_000): Promise<Recorder> {
    await mkdir(dir, { recursive: true });
    return new Recorder(etcd, await etcd.open(), dir, secs);
  }

  /** Puts of one key each; returns the revision of the last. */
  async put(prefix: string, count: number, valueBytes = 20): Promise<bigint> {
    for (let at = 0; at < count; at++) {
      const value = Buffer.alloc(valueBytes, `${prefix}${at} `);
      await this.endpoint.kv.put({ key: Buffer.from(`${prefix}${at % 7}`), value });
    }
    return this.revision();
  }

  async revision(): Promise<bigint> {
    return (await this.endpoint.status()).revision;
  }

  /** A file with the state of now. */
  async snapshot(): Promise<string> {
    const path = join(this.dir, `snapshot-${this.secs}-${await this.revision()}.db`);
    await this.etcd.ctl('snapshot', 'save', path);
    return path;
  }

  /** A full of now, or of an earlier `snapshot()`, under a name that may say less. */
  async full(store: string, change: { named?: bigint; path?: string } = {}): Promise<string> {
    const last = change.named ?? (await this.revision());
    const name = formatName({ kind: 'full', start: 0n, last, createdSecs: this.#tick(), codec: 'none' });
    await copyFile(change.path ?? (await this.snapshot()), await pathIn(store, name));
    return name;
  }

  /** What happened from `from` to now; `alter` makes something else of a response. */
  async delta(
    from: bigint,
    format: 'ebd' | 'json' = 'ebd',
    alter = (response: Buffer) => response,
  ): Promise<RecordedDelta> {
    return (await this.whileRecording(from, alter)).end(format);
  }

  /** The watch of a delta, open from before its events happen: they get the times at which they do. */
  async whileRecording(from: bigint, alter = (response: Buffer) => response) {
    const raw = join(this.dir, `delta-${this.secs}-${from}-${randomUUID()}`);
    const writer = DeltaWriter.create(raw, header(from), 'zstd');
    const client = await EtcdClient.open(this.etcd.connection());
    const sink = {
      onResponse: (response: Buffer, nowMs: number) => writer.pushResponse(alter(response), nowMs),
      dropPartial: () => writer.dropPartial(),
      isFull: () => false,
      drained: async () => undefined,
    };
    const watch = openWatch({ client, startRevision: from, sink, outageLimitMs: REACHED_MS });
    const end = async (format: 'ebd' | 'json'): Promise<RecordedDelta> => {
      const to = await this.revision();
      const reached = await watch.reached(to, REACHED_MS);
      await watch.close();
      client.close();
      if (!reached) throw new Error(`the watch did not reach revision ${to}`);
      await writer.finish(await this.#grants(writer.leases()));
      if (format === 'ebd') return { path: raw, from, to, codec: 'ebd' };
      await exportDelta('test', { source: raw, target: `${raw}.json`, compression: 'gzip' });
      return { path: `${raw}.json`, from, to, codec: 'gzip' };
    };
    return { end };
  }

  /** Puts a recorded delta into a store; returns its name. */
  async store(store: string, { path, from, to, codec }: RecordedDelta): Promise<string> {
    const name = formatName({ kind: 'delta', start: from, last: to, createdSecs: this.#tick(), codec });
    await copyFile(path, await pathIn(store, name));
    return name;
  }

  close(): void {
    this.endpoint.close();
  }

  async #grants(ids: readonly bigint[]) {
    const grants: { id: bigint; ttlSeconds: bigint }[] = [];
    for (const id of ids) {
      const ttlSeconds = await this.endpoint.leaseGrantedTtlSeconds(id);
      if (ttlSeconds !== null) grants.push({ id, ttlSeconds });
    }
    return grants;
  }

  #tick(): number {
    this.secs += 10;
    return this.secs;
  }
}

export interface RecordedDelta {
  readonly path: string;
  readonly from: bigint;
  readonly to: bigint;
  readonly codec: 'ebd' | 'gzip';
}

export async function pathIn(store: string, name: string): Promise<string> {
  await mkdir(join(store, 'v2'), { recursive: true });
  return join(store, 'v2', name);
}

function header(startRevision: bigint) {
  return {
    ...{ clusterId: 0n, memberId: 0n, serverVersion: '', predecessorName: '', predecessorSha256: null },
    ...{ startRevision, createdMs: 1_700_000_000_000, timeline: null },
  };
}
