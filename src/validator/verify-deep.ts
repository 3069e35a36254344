/**
 * `--deep`: each full is held, record by record, against the full before it and the deltas between them. So base and
 * deltas are shown to make what etcd had, which no look at one object alone can show. What is read for it is verified on
 * the way, and read once: a full stays on disk, plain, until the next one has been compared with it; the deltas between
 * two fulls lie there together.
 */
import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { compareWithLater, transcodeDelta } from '../native/index.js';
import type { Catalog } from '../pipeline/catalog.js';
import { type Between, type FullPair, FullPairs } from '../snapshot/full-pairs.js';
import type { PlannedDelta, RevisionRange, StoredSnapshot } from '../snapshot/plan.js';
import { rangesText } from '../snapshot/ranges-text.js';
import { deepId, type Memory } from './memory.js';
import type { ObjectReader } from './object-reader.js';
import type { DeepVerdict, ObjectVerdict } from './verdict.js';

export interface DeepOptions {
  readonly catalog: Catalog;
  readonly reader: ObjectReader;
  readonly memory: Memory;
  readonly workDir: string;
  readonly signal?: AbortSignal | undefined;
  readonly onCompared?: ((verdict: DeepVerdict) => void) | undefined;
  /** Records read, of one comparison. */
  readonly onProgress?: ((later: string, records: number) => void) | undefined;
}

export async function verifyDeep(options: DeepOptions): Promise<DeepVerdict[]> {
  return new DeepVerification(options).run();
}

/** An object as it was read, now or by an earlier run. */
type Known = Pick<ObjectVerdict, 'object' | 'sha256' | 'revision'>;

/** Two fulls and what is between them. */
interface Whole {
  readonly fulls: readonly [Known, Known];
  readonly deltas: readonly PlannedDelta[];
  readonly knownDeltas: readonly Known[];
  readonly revision: bigint;
}

class DeepVerification {
  readonly #options: DeepOptions;
  readonly #dir: string;
  /** Plain fulls, and deltas as .ebd, by name. */
  readonly #kept = new Map<string, string>();
  #pairs: FullPairs;

  constructor(options: DeepOptions) {
    this.#options = options;
    this.#dir = join(options.workDir, 'deep');
    this.#pairs = this.#pairsWithout(new Set());
  }

  async run(): Promise<DeepVerdict[]> {
    await mkdir(this.#dir, { mode: 0o700 });
    const verdicts: DeepVerdict[] = [];
    for (const pair of this.#pairs.pairs) {
      const verdict = this.#recall(pair) ?? this.#refuse(pair) ?? (await this.#compare(pair));
      this.#options.onCompared?.(verdict);
      verdicts.push(verdict);
      await this.#dropAllBut(pair.later.name.text);
    }
    await this.#dropAllBut('');
    return verdicts;
  }

  /** Nothing is read when every object of it is remembered, and the comparison, too. */
  #recall(pair: FullPair): DeepVerdict | undefined {
    const { memory } = this.#options;
    const known = (object: StoredSnapshot) => memory.object(object);
    const between = this.#between(pair, known);
    const whole = between && 'deltas' in between ? wholeOf(pair, between.deltas, known) : undefined;
    if (whole === undefined || memory.deep(idOf(whole)) === undefined) return undefined;
    return verdictOf(pair, whole, 'equal', undefined, true);
  }

  /** What is known to lack deltas is not read for it: retention keeps old fulls without theirs. */
  #refuse(pair: FullPair): DeepVerdict | undefined {
    const { memory } = this.#options;
    const stated = (object: StoredSnapshot): Known | undefined =>
      this.#verdict(object) ??
      memory.object(object) ??
      (object.manifest && { ...object.manifest, object: object.name.text });
    const between = this.#between(pair, stated);
    return between && 'missing' in between ? notComparable(pair, missingText(between.missing)) : undefined;
  }

  async #compare(pair: FullPair): Promise<DeepVerdict> {
    await this.#keep([pair.base, pair.later]);
    for (const excluded = new Set<string>(); ; ) {
      const unsound = [pair.base, pair.later].find((object) => !this.#isSound(object));
      if (unsound !== undefined) return notComparable(pair, `${unsound.name.text} is not sound, or gone`);
      const between = this.#between(pair, (object) => this.#verdict(object));
      if (between === undefined) return notComparable(pair, 'it holds less than the one before it');
      if (!('deltas' in between)) return notComparable(pair, missingText(between.missing));
      const { deltas } = between;
      await this.#keep(deltas.map(({ object }) => object));
      const bad = deltas.filter(({ object }) => !this.#isSound(object));
      if (bad.length === 0) return this.#compareWhole(pair, deltas);
      for (const { object } of bad) excluded.add(object.name.text);
      this.#pairs = this.#pairsWithout(excluded);
    }
  }

  async #compareWhole(pair: FullPair, deltas: readonly PlannedDelta[]): Promise<DeepVerdict> {
    const { signal, onProgress, memory } = this.#options;
    const whole = wholeOf(pair, deltas, (object) => this.#verdict(object));
    if (whole === undefined) return notComparable(pair, 'not all of it is there any more');
    const later = pair.later.name.text;
    const files = {
      base: this.#path(pair.base),
      later: this.#path(pair.later),
      deltas: deltas.map(({ object }) => this.#path(object)),
    };
    const found = await compareWithLater(later, files, {
      signal,
      onProgress: (records) => onProgress?.(later, records),
    });
    if (found.differsAt !== null) {
      const at = found.differsAt;
      const holder = deltas.find(({ from, to }) => from <= at && at <= to)?.object ?? pair.base;
      const text = `they part at revision ${at} (in ${holder.name.text}): ${found.difference}`;
      return verdictOf(pair, whole, 'differs', text, false);
    }
    const id = idOf(whole);
    await memory.add({ kind: 'deep', id, object: later, checkedAtMs: Date.now() });
    return verdictOf(pair, whole, 'equal', `${found.records} records`, false);
  }

  /** By the true revisions, which are known of what was read; undefined when they are not, or make no pair. */
  #between(pair: FullPair, known: (object: StoredSnapshot) => Known | undefined): Between | undefined {
    const [from, to] = [known(pair.base)?.revision, known(pair.later)?.revision];
    return from === undefined || to === undefined || from > to
      ? undefined
      : this.#pairs.between(pair, from, to);
  }

  /** Verifies what is not there yet, and leaves it there as the comparison wants it. */
  async #keep(objects: readonly StoredSnapshot[]): Promise<void> {
    const { reader, memory, signal } = this.#options;
    const missing = objects.filter(({ name }) => !this.#kept.has(name.text) && this.#mayBeSound(name.text));
    // Those that nobody has counted as still to be read.
    reader.announce(
      missing.filter((one) => this.#verdict(one) !== undefined || memory.object(one) !== undefined),
    );
    await reader.readAll(missing, (object) => this.#path(object, 'fetched'));
    for (const object of missing.filter((one) => this.#isSound(one, 'read'))) {
      const { text, kind, codec } = object.name;
      const fetched = this.#path(object, 'fetched');
      if (kind === 'delta' && codec !== 'ebd') {
        const target = `${fetched}.ebd`;
        await transcodeDelta(text, { source: fetched, target, codec: 'zstd' }, { signal });
        await rm(fetched);
        this.#kept.set(text, target);
      } else this.#kept.set(text, fetched);
    }
  }

  #mayBeSound(name: string): boolean {
    const verdict = this.#options.reader.verdicts.get(name);
    return verdict === undefined || verdict.problems.length === 0;
  }

  /** "kept": and it lies here. */
  #isSound(object: StoredSnapshot, how: 'read' | 'kept' = 'kept'): boolean {
    const verdict = this.#verdict(object);
    const isThere = how === 'read' || this.#kept.has(object.name.text);
    return verdict !== undefined && verdict.problems.length === 0 && isThere;
  }

  #verdict({ name }: StoredSnapshot): ObjectVerdict | undefined {
    return this.#options.reader.verdicts.get(name.text);
  }

  #path({ name }: StoredSnapshot, how: 'fetched' | 'kept' = 'kept'): string {
    const fetched = join(this.#dir, name.text);
    return how === 'fetched' ? fetched : (this.#kept.get(name.text) ?? fetched);
  }

  async #dropAllBut(name: string): Promise<void> {
    for (const [kept, path] of this.#kept) {
      if (kept === name) continue;
      await rm(path, { force: true });
      this.#kept.delete(kept);
    }
  }

  #pairsWithout(excluded: ReadonlySet<string>): FullPairs {
    return new FullPairs({ objects: this.#options.catalog.objects, exclude: [...excluded] });
  }
}

function wholeOf(
  { base, later }: FullPair,
  deltas: readonly PlannedDelta[],
  known: (object: StoredSnapshot) => Known | undefined,
): Whole | undefined {
  const [first, last] = [known(base), known(later)];
  const knownDeltas = deltas.map(({ object }) => known(object)).filter((one) => one !== undefined);
  if (first === undefined || last?.revision === undefined || knownDeltas.length < deltas.length)
    return undefined;
  return { fulls: [first, last], deltas, knownDeltas, revision: last.revision };
}

function idOf({ fulls, deltas, knownDeltas }: Whole): string {
  const parts = [...fulls, ...knownDeltas].map(({ object, sha256 }) => `${object} ${sha256}`);
  return deepId([...parts, ...deltas.map(({ from, to }) => `${from}-${to}`)]);
}

function verdictOf(
  { base, later }: FullPair,
  { deltas, revision }: Whole,
  outcome: DeepVerdict['outcome'],
  detail: string | undefined,
  remembered: boolean,
): DeepVerdict {
  const names = { base: base.name.text, later: later.name.text };
  return { ...names, deltas: deltas.length, revision, outcome, detail, remembered };
}

function notComparable({ base, later }: FullPair, detail: string): DeepVerdict {
  const names = { base: base.name.text, later: later.name.text };
  const unknown = { deltas: 0, revision: later.manifest?.revision ?? later.name.last };
  return { ...names, ...unknown, outcome: 'not comparable', detail, remembered: false };
}

function missingText(missing: readonly RevisionRange[]): string {
  return `revisions ${rangesText(missing)} are in no delta between them`;
}
