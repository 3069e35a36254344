/**
 * Deltas above a base, from a seed: puts that an etcd would have sent its watchers, with the create revisions and
 * versions that follow from their history, cut as the agent cuts them.
 */
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { type DeltaSummary, DeltaWriter } from '../../src/native/index.js';
import { formatName } from '../../src/snapshot/name.js';
import { Random } from '../../test/servers/random.js';
import { field, varintField } from './protobuf.js';

export interface DeltaPlan {
  readonly seed: number;
  /** The base ends one below. */
  readonly firstRevision: number;
  readonly events: number;
  readonly createdSecs: number;
}

export interface WrittenDelta {
  readonly name: string;
  readonly path: string;
  readonly summary: DeltaSummary;
}

export const DELTA_VALUE_BYTES = 300;
export const DELTA_KEYS = 100_000;
const EVENTS_PER_RESPONSE = 100;
/** What the agent's limit of 10 MiB comes to with these values. */
const EVENTS_PER_DELTA = 30_000;
/** Hexadecimal text that values are cut out of: a block holds the same piece twice only by chance. */
const POOL_BYTES = 16 * 1024 ** 2;

/** Calls `done` with each delta as soon as it is finished; files are `dir`/NAME. */
export async function writeDeltas(
  dir: string,
  plan: DeltaPlan,
  done: (delta: WrittenDelta) => Promise<void>,
): Promise<void> {
  const puts = new Puts(plan);
  for (let at = 0, cut = 1; at < plan.events; at += EVENTS_PER_DELTA, cut++) {
    const count = Math.min(EVENTS_PER_DELTA, plan.events - at);
    const start = plan.firstRevision + at;
    const createdSecs = plan.createdSecs + cut;
    const range = { start: BigInt(start), last: BigInt(start + count - 1) };
    const name = formatName({ kind: 'delta', ...range, createdSecs, codec: 'ebd' });
    const path = join(dir, name);
    await done({ name, path, summary: await writeDelta(path, puts, range.start, count, createdSecs) });
  }
}

/** One delta as a function is timed on: all events in one file. */
export async function writeOneDelta(path: string, events: number): Promise<DeltaSummary> {
  const plan = { seed: 7, firstRevision: 2, events, createdSecs: 1_700_000_000 };
  return writeDelta(path, new Puts(plan), 2n, events, plan.createdSecs);
}

/** Raw WatchResponses as the spool gets them. */
export function watchResponses(events: number): Buffer[] {
  const puts = new Puts({ seed: 7, firstRevision: 2, events, createdSecs: 0 });
  return Array.from({ length: Math.ceil(events / EVENTS_PER_RESPONSE) }, (_, at) =>
    puts.response(Math.min(EVENTS_PER_RESPONSE, events - at * EVENTS_PER_RESPONSE)),
  );
}

export function openDelta(path: string, startRevision: bigint, createdSecs: number): DeltaWriter {
  const header = {
    clusterId: 0n,
    memberId: 0n,
    serverVersion: '3.5.35',
    predecessorName: '',
    predecessorSha256: null,
    startRevision,
    createdMs: createdSecs * 1000,
    timeline: null,
  };
  return DeltaWriter.create(path, header, 'zstd');
}

async function writeDelta(
  path: string,
  puts: Puts,
  start: bigint,
  count: number,
  createdSecs: number,
): Promise<DeltaSummary> {
  const writer = openDelta(path, start, createdSecs);
  for (let at = 0; at < count; at += EVENTS_PER_RESPONSE) {
    writer.pushResponse(puts.response(Math.min(EVENTS_PER_RESPONSE, count - at)), createdSecs * 1000);
  }
  return writer.finish([]);
}

/** The history of the deltas' keys, in order. */
class Puts {
  readonly #random: Random;
  readonly #pool: Buffer;
  readonly #created = new Map<number, { readonly revision: number; version: number }>();
  #revision: number;

  constructor({ seed, firstRevision }: DeltaPlan) {
    this.#random = new Random(seed);
    this.#pool = hexPool(seed);
    this.#revision = firstRevision;
  }

  /** WatchResponse: 11 events; Event: 2 kv (its type, put, is 0 and left out). */
  response(count: number): Buffer {
    return Buffer.concat(Array.from({ length: count }, () => field(11, field(2, this.#next()))));
  }

  /** KeyValue: 1 key, 2 create_revision, 3 mod_revision, 4 version, 5 value. */
  #next(): Buffer {
    const chosen = this.#random.int(DELTA_KEYS);
    const revision = this.#revision++;
    const known = this.#created.get(chosen) ?? { revision, version: 0 };
    known.version += 1;
    this.#created.set(chosen, known);
    const from = this.#random.int(POOL_BYTES - DELTA_VALUE_BYTES);
    return Buffer.concat([
      field(1, Buffer.from(`/registry/pods/bench/pod-${String(chosen).padStart(9, '0')}`)),
      varintField(2, known.revision),
      varintField(3, revision),
      varintField(4, known.version),
      field(5, this.#pool.subarray(from, from + DELTA_VALUE_BYTES)),
    ]);
  }
}

function hexPool(seed: number): Buffer {
  const pieces: Buffer[] = [];
  for (let at = 0; at < POOL_BYTES; at += 64) {
    pieces.push(Buffer.from(createHash('sha256').update(`${seed}:${at}`).digest('hex')));
  }
  return Buffer.concat(pieces);
}
