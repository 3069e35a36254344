/** Answers out of one file: a snapshot, packed or not, the database of a stopped etcd, or a delta. */
import { resolve } from 'node:path';
import { BackupError } from '../errors.js';
import { identifyBackup, Look, type LookQuery, OpenFull } from '../native/index.js';
import type { ReadOptions } from './object-files.js';
import { EVERYTHING } from './parts.js';
import type { Answer, KeyRange, Reader } from './reader.js';

const MAX_REVISION = 2n ** 63n - 1n;
const PART = { source: 0, side: 'both', after: EVERYTHING } as const;

export class FileReader implements Reader {
  readonly #op: string;
  readonly #path: string;
  readonly #tempDir: string;

  constructor({
    op,
    path,
    tempDir,
  }: { readonly op: string; readonly path: string; readonly tempDir: string }) {
    this.#op = op;
    this.#path = resolve(path);
    this.#tempDir = tempDir;
  }

  async newestRevision(options: ReadOptions): Promise<bigint> {
    const { kind, codec } = await identifyBackup(this.#path, options);
    if (kind === 'full') return (await this.#openFull(codec ?? 'none', options)).revision;
    // Nothing has an empty key.
    const nothing = { key: Buffer.alloc(0), isPrefix: false };
    return (await this.state(nothing, undefined, options)).revision;
  }

  async revisionAt(): Promise<bigint> {
    throw new BackupError('USAGE', 'a file does not say when its revisions were; give --at-revision', {
      op: this.#op,
      object: '--at-time',
    });
  }

  state(range: KeyRange, at: bigint | undefined, options: ReadOptions): Promise<Answer> {
    return this.#ask(range, { ask: 'state', from: 0n, to: at ?? MAX_REVISION, withValues: true }, options);
  }

  history(
    range: KeyRange,
    options: ReadOptions & { readonly to?: bigint | undefined; readonly withValues: boolean },
  ): Promise<Answer> {
    const { to, withValues } = options;
    return this.#ask(range, { ask: 'history', from: 0n, to: to ?? MAX_REVISION, withValues }, options);
  }

  difference(range: KeyRange, from: bigint, to: bigint, options: ReadOptions): Promise<Answer> {
    return this.#ask(range, { ask: 'difference', from, to, withValues: true }, options);
  }

  async close(): Promise<void> {}

  async #ask(
    range: KeyRange,
    query: Pick<LookQuery, 'ask' | 'from' | 'to' | 'withValues'>,
    options: ReadOptions,
  ): Promise<Answer> {
    const { kind, codec } = await identifyBackup(this.#path, options);
    const look = new Look({ ...range, ...query, tempDir: this.#tempDir });
    const { revision, compacted } =
      kind === 'full'
        ? await this.#readFull(look, codec ?? 'none', options)
        : await this.#readDelta(look, options);
    if (query.to !== MAX_REVISION && query.to > revision) {
      throw new BackupError('REVISION_GAP', `it ends at revision ${revision}, ${query.to} is not in it`, {
        op: this.#op,
        object: this.#path,
      });
    }
    return {
      revision: query.to === MAX_REVISION ? revision : query.to,
      compacted,
      rows: look.rows(options),
      nameOf: () => this.#path,
    };
  }

  async #readFull(
    look: Look,
    codec: string,
    options: ReadOptions,
  ): Promise<{ revision: bigint; compacted: bigint }> {
    const full = await this.#openFull(codec, options);
    await look.full(full, PART, options);
    return { revision: full.revision, compacted: full.compacted };
  }

  #openFull(codec: string, options: ReadOptions): Promise<OpenFull> {
    const request = { path: this.#path, codec: codec === 'none' ? null : codec, tempDir: this.#tempDir };
    return OpenFull.open(this.#path, request, options);
  }

  async #readDelta(look: Look, options: ReadOptions): Promise<{ revision: bigint; compacted: bigint }> {
    const { firstRevision, lastRevision } = await look.delta(this.#path, this.#path, PART, options);
    // What a delta does not hold of earlier times is as good as compacted away.
    return { revision: lastRevision, compacted: firstRevision - 1n };
  }
}
