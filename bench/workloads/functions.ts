/** Functions in this process, timed by tinybench: the delta codec, planning, listing, uploading. */
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { copyFile, mkdir, open, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Bench as Timer } from 'tinybench';
import { formatBytes } from '../../src/base/bytes.js';
import { exportDelta, hashFile, Replay, verifyDelta } from '../../src/native/index.js';
import { planRestore } from '../../src/snapshot/chain.js';
import { formatName, parseName } from '../../src/snapshot/name.js';
import { openStore } from '../../src/store/open-store.js';
import { Random } from '../../test/servers/random.js';
import { DELTA_VALUE_BYTES, openDelta, watchResponses, writeOneDelta } from '../datasets/deltas.js';
import type { Bar, Contestant, Role, Run } from '../results.js';
import type { Bench, Outcome, Workload } from './workload.js';

const ITERATIONS = 5;
const DELTAS_PER_FULL = 500;
const UPLOAD_BYTES = 64 * 1024 ** 2;
const MIN_EBD_RATE = 1_000_000;
const MIN_JSON_RATE = 300_000;

interface Timed {
  readonly name: string;
  readonly role?: Role;
  readonly before?: () => Promise<void>;
  readonly run: () => Promise<void> | void;
}

export const functions: Workload = {
  name: 'functions',
  about: 'Single functions, without the start of a process.',
  timeShare: 1,
  run: async (bench) => [await deltaCodec(bench), await objects(bench), await upload(bench)],
};

async function deltaCodec({ workDir, size }: Bench): Promise<Outcome> {
  const events = size.functionEvents;
  const ebd = join(workDir, 'x.ebd');
  const json = join(workDir, 'x.json');
  const written = join(workDir, 'written.ebd');
  await writeOneDelta(ebd, events);
  await exportDelta('x', { source: ebd, target: json, compression: 'none' });
  await exportDelta('x', { source: ebd, target: `${json}.gz`, compression: 'gzip' });
  const responses = watchResponses(events);
  const contestants = await time(events, [
    {
      name: 'watch responses into an .ebd (zstd)',
      before: () => rm(written, { force: true }),
      run: () => ingest(written, responses),
    },
    { name: '.ebd, verify', run: async () => void (await verifyDelta('x', ebd)) },
    { name: '.ebd, decode to transactions', run: () => replay(ebd) },
    { name: 'json, verify', run: async () => void (await verifyDelta('x', json)) },
    { name: 'json.gz, verify', run: async () => void (await verifyDelta('x', `${json}.gz`)) },
    { name: 'sha256 of the .ebd', role: 'floor', run: () => digest(ebd) },
    { name: 'sha256 of the json', role: 'floor', run: () => digest(json) },
  ]);
  const sizes = `${formatBytes((await stat(ebd)).size)} as .ebd, ${formatBytes((await stat(json)).size)} as JSON`;
  return {
    title: 'Delta codec',
    input: `${events} puts with values of ${DELTA_VALUE_BYTES} bytes (seed 7), ${sizes}`,
    rateUnit: 'events/s',
    contestants,
    skipped: [],
    bars: [
      ...rateBar(contestants, '.ebd, verify', MIN_EBD_RATE),
      ...rateBar(contestants, 'json, verify', MIN_JSON_RATE),
    ],
  };
}

async function objects({ workDir, size: { listedObjects } }: Bench): Promise<Outcome> {
  const container = join(workDir, 'many');
  await mkdir(join(container, 'v2'), { recursive: true });
  const names = chainNames(listedObjects);
  for (const name of names) await writeFile(join(container, 'v2', name), '');
  const store = await localStore(container);
  const stored = names.map((text) => {
    const parsed = parseName(text);
    if (!parsed.ok) throw new Error(`${text} ${parsed.reason}`);
    return { key: `v2/${text}`, name: parsed.name, bytes: 1 };
  });
  const contestants = await time(listedObjects, [
    {
      name: 'list of a Local directory',
      run: async () => {
        let seen = 0;
        for await (const _ of store.list('v2')) seen += 1;
        if (seen !== names.length) throw new Error(`${seen} objects listed, ${names.length} are there`);
      },
    },
    { name: 'names parsed', run: () => names.forEach((name) => void parseName(name)) },
    { name: 'restore planned', run: () => void planRestore({ objects: stored }) },
  ]);
  const input = `${listedObjects} objects, a full before each ${DELTAS_PER_FULL} deltas`;
  return {
    title: 'Listing and planning',
    input,
    rateUnit: 'objects/s',
    contestants,
    skipped: [],
    bars: [],
  };
}

async function upload({ workDir }: Bench): Promise<Outcome> {
  const path = join(workDir, 'upload');
  await writeFile(path, new Random(11).bytes(UPLOAD_BYTES));
  const { bytes, sha256 } = await hashFile(path);
  const container = join(workDir, 'uploads');
  const store = await localStore(container);
  const copy = join(workDir, 'upload.copy');
  const contestants = await time(bytes, [
    {
      name: 'put into a Local store',
      before: () => rm(container, { recursive: true, force: true }),
      run: async () => void (await store.putFile('v2/object', path, { bytes, sha256 })),
    },
    {
      name: 'copy + fsync',
      role: 'floor',
      before: () => rm(copy, { force: true }),
      run: () => copyAndSync(path, copy),
    },
    { name: 'sha256', role: 'floor', run: async () => void (await hashFile(path)) },
  ]);
  const input = `one file of ${formatBytes(bytes)} (seed 11), digested and synced`;
  return {
    title: 'Upload',
    input,
    rateUnit: 'bytes/s',
    contestants,
    skipped: [],
    bars: [],
  };
}

async function time(work: number, timed: readonly Timed[]): Promise<Contestant[]> {
  const timer = new Timer({
    iterations: ITERATIONS,
    time: 0,
    warmupIterations: 1,
    warmupTime: 0,
    retainSamples: true,
    throws: true,
  });
  for (const { name, run, before } of timed) {
    timer.add(name, run, before === undefined ? {} : { beforeEach: before });
  }
  await timer.run();
  return timer.tasks.map(({ name, result }) => {
    const samples = 'latency' in result ? (result.latency.samples ?? []) : [];
    if (samples.length === 0) throw new Error(`${name} gave no samples`);
    const runs = samples.map((wallMs): Run => ({ wallMs, rate: (work * 1000) / wallMs }));
    return { name, role: timed.find((each) => each.name === name)?.role ?? 'ours', runs };
  });
}

function rateBar(contestants: readonly Contestant[], name: string, perSecond: number): Bar[] {
  const runs = contestants.find((each) => each.name === name)?.runs ?? [];
  const values = runs.map(({ rate = Number.NaN }) => rate / perSecond);
  return [
    { text: `${name}: events a second, in ${perSecond / 1e6} million`, unit: 'times', values, atLeast: 1 },
  ];
}

async function ingest(path: string, responses: readonly Buffer[]): Promise<void> {
  const writer = openDelta(path, 2n, 1_700_000_000);
  for (const response of responses) writer.pushResponse(response, 1_700_000_000_000);
  await writer.finish([]);
}

async function replay(path: string): Promise<void> {
  const reader = new Replay(1n);
  reader.open('x', path, 2n ** 63n - 1n);
  while ((await reader.next()) !== null);
}

async function digest(path: string): Promise<void> {
  const hash = createHash('sha256');
  for await (const chunk of createReadStream(path, { highWaterMark: 1024 * 1024 }))
    hash.update(chunk as Buffer);
  hash.digest();
}

async function copyAndSync(from: string, to: string): Promise<void> {
  await copyFile(from, to);
  const handle = await open(to, 'r+');
  await handle.sync();
  await handle.close();
}

function localStore(container: string) {
  return openStore({ provider: 'Local', container, prefix: '', homeDir: '/nowhere' });
}

/** Fulls, each with the deltas after it. */
function chainNames(count: number): string[] {
  return Array.from({ length: count }, (_, at) => {
    const last = BigInt(at + 1) * 100n;
    const createdSecs = 1_700_000_000 + at * 20;
    return at % (DELTAS_PER_FULL + 1) === 0
      ? formatName({ kind: 'full', start: 0n, last, createdSecs, codec: 'zstd' })
      : formatName({ kind: 'delta', start: last - 99n, last, createdSecs, codec: 'ebd' });
  });
}
