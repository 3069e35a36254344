/**
 * A small world that knows what really happened: etcds whose revisions have contents, writers that back them up as
 * we or the Go tool do, rollbacks and restores. Its objects say what names and manifests say; the world remembers
 * what each of them truly holds.
 */
import type { Manifest } from '../../src/snapshot/manifest.js';
import { formatName, parseName, type SnapshotName } from '../../src/snapshot/name.js';
import type { StoredSnapshot } from '../../src/snapshot/plan.js';
import { NARROW_SKEW_SECS, WIDE_SKEW_SECS } from '../../src/snapshot/timeline.js';

export type Tool = 'ours' | 'go';

export type Step =
  | { readonly do: 'write'; readonly count: number; readonly secs: number }
  | { readonly do: 'delta'; readonly writer: number }
  /** `during`: writes while the full is streamed, after its name was chosen (hazard 1). */
  | { readonly do: 'full'; readonly writer: number; readonly during: number; readonly secs: number }
  | { readonly do: 'join'; readonly tool: Tool; readonly early: number; readonly clock: number }
  | { readonly do: 'leave'; readonly writer: number }
  | {
      readonly do: 'rollback';
      readonly back: number;
      readonly declared: boolean;
      readonly tool: Tool;
      readonly idle: number;
      readonly long: boolean;
      /** The writer can read the last record of what is stored, and says whether it found it. */
      readonly compare: boolean;
    };

/** One etcd's life: what each of its revisions holds. Two of them may hold the same up to where one was split off. */
export interface Life {
  readonly records: string[];
  readonly parent: Life | undefined;
  readonly declared: boolean;
  readonly splitAt: number;
  readonly made: Made[];
}

export interface Made {
  readonly object: StoredSnapshot;
  readonly life: Life;
  /** What it truly holds. A full: everything up to `last`. */
  readonly start: number;
  readonly last: number;
}

interface Writer {
  readonly tool: Tool;
  readonly clock: number;
  next: number;
  previous: Made | undefined;
}

const EPOCH_SECS = 1_700_000_000;
const LONG_DOWNTIME_SECS = WIDE_SKEW_SECS + 3 * NARROW_SKEW_SECS;
const SHORT_DOWNTIME_SECS = 3 * NARROW_SKEW_SECS;

export class World {
  readonly lives: Life[] = [];
  readonly made: Made[] = [];
  #writers: Writer[] = [];
  #now = EPOCH_SECS;
  #contents = 0;
  #restore: Manifest['restoredFrom'];
  #diverged: string | undefined;

  constructor(steps: readonly Step[], first: Tool) {
    this.#live({ records: ['', 'empty'], parent: undefined, declared: false, splitAt: 0, made: [] });
    this.#write(3, 3);
    this.#join(first, 0, 0);
    for (const step of steps) this.#take(step);
  }

  get life(): Life {
    const life = this.lives.at(-1);
    if (life === undefined) throw new Error('no etcd lives');
    return life;
  }

  get #revision(): number {
    return this.life.records.length - 1;
  }

  #take(step: Step): void {
    if (step.do === 'write') this.#write(step.count, step.secs);
    else if (step.do === 'delta') this.#delta(this.#writer(step.writer));
    else if (step.do === 'full') this.#full(this.#writer(step.writer), step.during, step.secs);
    else if (step.do === 'join') this.#join(step.tool, step.early, step.clock);
    else if (step.do === 'leave' && this.#writers.length > 1) {
      this.#writers.splice(step.writer % this.#writers.length, 1);
    } else if (step.do === 'rollback') this.#rollback(step);
  }

  #live(life: Life): void {
    this.lives.push(life);
  }

  #writer(index: number): Writer {
    const writer = this.#writers[index % this.#writers.length];
    if (writer === undefined) throw new Error('nobody writes');
    return writer;
  }

  #write(count: number, secs: number): void {
    for (let i = 0; i < count; i += 1) {
      this.#contents += 1;
      this.life.records.push(`content ${this.#contents}`);
    }
    this.#now += secs;
  }

  #join(tool: Tool, early: number, clock: number, previous?: Made): void {
    if (this.#writers.length >= 2) return;
    this.#now += 1;
    const writer: Writer = { tool, clock, next: this.#revision + 1, previous };
    this.#writers.push(writer);
    // Ours opens its watch before the full is streamed, so its first delta may begin below the full.
    if (tool === 'ours') this.#write(early, 0);
    this.#full(writer, tool === 'go' ? early : 0, early);
  }

  #full(writer: Writer, during: number, secs: number): void {
    const named = this.#revision;
    const opened = this.#now;
    if (writer.tool === 'ours') {
      const made = this.#publish(writer, 'full', 0, named, named, opened);
      this.#write(during, secs);
      if (writer.previous?.life !== this.life) writer.previous = made;
      return;
    }
    this.#write(during, Math.min(secs, WIDE_SKEW_SECS - 2 * NARROW_SKEW_SECS));
    this.#publish(writer, 'full', 0, named, this.#revision, this.#now);
    writer.next = named + 1;
  }

  #delta(writer: Writer): void {
    if (writer.next > this.#revision) return;
    this.#now += 1;
    const made = this.#publish(writer, 'delta', writer.next, this.#revision, this.#revision, this.#now);
    writer.next = this.#revision + 1;
    writer.previous = made;
  }

  #rollback(step: Extract<Step, { do: 'rollback' }>): void {
    const top = this.#revision;
    const splitAt = Math.max(2, top - step.back);
    if (splitAt >= top) return;
    const before = this.life;
    const base = before.made
      .filter((made) => made.object.name.kind === 'full' && made.last <= splitAt)
      .at(-1);
    const declared = step.declared && step.tool === 'ours' && base !== undefined;
    const tip = before.made.toSorted((a, b) => b.last - a.last)[0];
    this.#live({
      records: before.records.slice(0, splitAt + 1),
      parent: before,
      declared,
      splitAt,
      made: [],
    });
    this.#now += step.long ? LONG_DOWNTIME_SECS : SHORT_DOWNTIME_SECS;
    this.#restore = declared
      ? { base: base.object.name.text, revision: BigInt(splitAt), restoredAtMs: this.#now * 1000 }
      : undefined;
    this.#write(step.idle, 1);
    const compared = step.tool === 'ours' && step.compare ? tip : undefined;
    const continues = compared !== undefined && this.#holds(compared);
    this.#diverged = continues ? undefined : compared?.object.name.text;
    this.#writers = [];
    this.#join(step.tool, 0, 0, continues ? compared : undefined);
    // Whoever comes later compares with what this one has written.
    this.#diverged = undefined;
  }

  #holds(made: Made): boolean {
    return made.last <= this.#revision && this.life.records[made.last] === made.life.records[made.last];
  }

  #publish(
    writer: Writer,
    kind: SnapshotName['kind'],
    start: number,
    named: number,
    last: number,
    realSecs: number,
  ): Made {
    const codec = writer.tool === 'go' ? 'gzip' : kind === 'full' ? 'zstd' : 'ebd';
    let createdSecs = realSecs + writer.clock;
    let name = nameOf(kind, start, named, createdSecs, codec);
    while (this.made.some(({ object }) => object.name.text === name.text)) {
      createdSecs += 1;
      this.#now += 1;
      name = nameOf(kind, start, named, createdSecs, codec);
    }
    const bytes = 1000 + this.made.length;
    const manifest = writer.tool === 'ours' ? this.#manifest(name, last, bytes, writer.previous) : undefined;
    const made: Made = {
      object: { key: `v2/${name.text}`, name, bytes, manifest },
      life: this.life,
      start,
      last,
    };
    this.made.push(made);
    this.life.made.push(made);
    return made;
  }

  #manifest(name: SnapshotName, last: number, bytes: number, previous: Made | undefined): Manifest {
    return {
      version: 1,
      name: name.text,
      revision: BigInt(last),
      bytes,
      sha256: '00'.repeat(32),
      lastRecord: {
        keyBase64: 'aw==',
        modRevision: BigInt(last),
        tombstone: false,
        sha256: `${this.life.records[last]}`,
      },
      restoredFrom: this.#restore,
      divergedFrom: this.#diverged,
      previous:
        previous === undefined ? undefined : { name: previous.object.name.text, sha256: '00'.repeat(32) },
    };
  }
}

function nameOf(
  kind: SnapshotName['kind'],
  start: number,
  last: number,
  createdSecs: number,
  codec: SnapshotName['codec'],
): SnapshotName {
  const text = formatName({ kind, start: BigInt(start), last: BigInt(last), createdSecs, codec });
  const parsed = parseName(text);
  if (!parsed.ok) throw new Error(`${text} ${parsed.reason}`);
  return parsed.name;
}
