/** A snapshotter under test: in this process, into a Local store or any other, with everything that it told. */
import { join } from 'node:path';
import { type BackupConfig, parseBackupConfig } from '../../src/config/backup.js';
import { EtcdClient } from '../../src/etcd/client.js';
import { runSnapshotter, type SnapshotterEvent } from '../../src/snapshotter/snapshotter.js';
import { openLocal } from '../../src/store/local/open.js';
import type { Store } from '../../src/store/store.js';
import type { TestEtcd } from '../servers/etcd.js';
import { removeTempDir, tempDir } from '../servers/process.js';

export interface BackupPlace {
  readonly dir: string;
  readonly container: string;
  readonly tempDir: string;
  readonly store: Store;
  remove(): Promise<void>;
}

/** A store and a temp directory on one disk. */
export async function backupPlace(): Promise<BackupPlace> {
  const dir = tempDir('backup');
  const container = join(dir, 'store');
  const store = await openLocal({ container, prefix: '', homeDir: dir });
  return { dir, container, tempDir: join(dir, 'tmp'), store, remove: () => removeTempDir(dir) };
}

export interface BackupOptions {
  readonly flags?: Readonly<Record<string, string>>;
  readonly store?: Store;
  readonly endpoints?: readonly string[];
  readonly graceMs?: number;
}

export class Backup {
  readonly events: SnapshotterEvent[] = [];
  /** Settles as `runSnapshotter` does. */
  readonly ended: Promise<void>;
  readonly #aborter = new AbortController();
  readonly #listeners = new Set<() => void>();
  #settled = false;

  private constructor(client: EtcdClient, place: BackupPlace, options: BackupOptions) {
    this.ended = runSnapshotter({
      client,
      store: options.store ?? place.store,
      config: configOf(options.flags ?? {}),
      tempDir: place.tempDir,
      snapshotTimeoutMs: 0,
      observe: (event) => this.#heard(event),
      signal: this.#aborter.signal,
      graceMs: options.graceMs ?? 10_000,
    }).finally(() => {
      this.#settled = true;
      client.close();
      for (const listener of this.#listeners) listener();
    });
    this.ended.catch(() => undefined);
  }

  static async start(etcd: TestEtcd, place: BackupPlace, options: BackupOptions = {}): Promise<Backup> {
    const change = options.endpoints === undefined ? {} : { endpoints: options.endpoints };
    return new Backup(await EtcdClient.open(etcd.connection(change)), place, options);
  }

  of<K extends SnapshotterEvent['kind']>(kind: K): Extract<SnapshotterEvent, { kind: K }>[] {
    return this.events.filter(
      (event): event is Extract<SnapshotterEvent, { kind: K }> => event.kind === kind,
    );
  }

  /** Resolves once so many events of the kind were told; rejects when the run ends before. */
  async saw(kind: SnapshotterEvent['kind'], count = 1): Promise<void> {
    await this.until(() => this.of(kind).length >= count, `${count} x ${kind}`);
  }

  async until(holds: () => boolean, what = 'what was waited for'): Promise<void> {
    while (!holds()) {
      if (this.#settled) {
        await this.ended;
        throw new Error(`the run ended before ${what}`);
      }
      await new Promise<void>((resolve) => {
        this.#listeners.add(resolve);
      });
    }
  }

  stored(): string[] {
    return [...this.of('full-stored'), ...this.of('delta-stored')].map(({ name }) => name);
  }

  /** SIGTERM. */
  async stop(): Promise<void> {
    this.#aborter.abort('SIGTERM');
    await this.ended;
  }

  #heard(event: SnapshotterEvent): void {
    if (event.kind !== 'full-progress') this.events.push(event);
    const listeners = [...this.#listeners];
    this.#listeners.clear();
    for (const listener of listeners) listener();
  }
}

function configOf(flags: Readonly<Record<string, string>>): BackupConfig {
  const given = new Map(
    Object.entries({ 'delta-snapshot-period': '1s', ...flags }).map(([name, text]) => [name, [text]]),
  );
  return parseBackupConfig(given, 'etcdbr');
}
