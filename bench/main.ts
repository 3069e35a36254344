/** `npm run bench -- [options]` (see options.ts): runs the workloads, writes results and report. */
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { benchCache, removeLeftBehind, workDirOfThisRun } from './datasets/cache.js';
import { bbolt, etcdctl, etcdutl } from './engines/etcd-tools.js';
import { etcdbr, ROOT } from './engines/etcdbr.js';
import { copying, decompressing, digesting, reading } from './engines/floor.js';
import { goTool } from './engines/go-tool.js';
import { describeMachine } from './machine.js';
import { type Options, parseOptions, USAGE } from './options.js';
import { sectionMarkdown } from './paper/markdown.js';
import { writePaper } from './paper/paper.js';
import type { Results, Section, Skipped } from './results.js';
import type { Engines, Workload } from './workloads/workload.js';
import { chooseWorkloads } from './workloads/workloads.js';

async function main(args: readonly string[]): Promise<void> {
  const options = parseOptions(args);
  const workloads = chooseWorkloads(options.only);
  await mkdir(options.outDir, { recursive: true });
  const resultsPath = join(options.outDir, 'results.json');
  if (!options.redraw) await prepareAll(options, workloads);
  if (options.prepare) return;
  if (!options.redraw) {
    const results = await runAll(options, workloads, ['npm run bench --', ...args].join(' '));
    await writeFile(resultsPath, `${withoutPaths(JSON.stringify(results, null, 1))}\n`);
  }
  const results = JSON.parse(await readFile(resultsPath, 'utf8')) as Results;
  await writePaper(results, options.outDir);
  process.stdout.write(`\nreport: ${join(options.outDir, 'report.md')}, report.html\n`);
  const skipped = [...results.skipped, ...results.sections.flatMap((section) => section.skipped)];
  if (skipped.some(({ failed }) => failed)) process.exitCode = 1;
}

/** Where this machine keeps its things is not for a committed report. */
function withoutPaths(text: string): string {
  return text.replaceAll(ROOT, './').replaceAll(homedir(), '~');
}

async function prepareAll({ size }: Options, workloads: readonly Workload[]): Promise<void> {
  await removeLeftBehind();
  for (const workload of workloads) await workload.prepare?.(size);
}

async function runAll(options: Options, workloads: readonly Workload[], command: string): Promise<Results> {
  const startedAt = new Date().toISOString();
  const startedMs = performance.now();
  const endMs = startedMs + (options.minutes ?? Number.POSITIVE_INFINITY) * 60_000;
  const machine = await describeMachine(benchCache);
  const sections: Section[] = [];
  const skipped: Skipped[] = [];
  for (const [at, workload] of workloads.entries()) {
    const nowMs = performance.now();
    const deadlineMs = nowMs + (endMs - nowMs) * shareOf(workloads.slice(at));
    const outcome = await runOne(options, workload, deadlineMs);
    for (const section of outcome.sections) {
      process.stdout.write(`\n${sectionMarkdown(section)}\n`);
      sections.push(section);
    }
    skipped.push(...outcome.skipped);
  }
  const tookMs = performance.now() - startedMs;
  return { version: 1, startedAt, tookMs, command, size: options.size.name, machine, sections, skipped };
}

/** Of the first of them in the time that is left. */
function shareOf(rest: readonly Workload[]): number {
  return (rest[0]?.timeShare ?? 0) / rest.reduce((sum, { timeShare }) => sum + timeShare, 0);
}

async function runOne(
  options: Options,
  workload: Workload,
  deadlineMs: number,
): Promise<{ sections: readonly Section[]; skipped: readonly Skipped[] }> {
  const workDir = workDirOfThisRun();
  await mkdir(workDir, { recursive: true });
  process.stderr.write(`bench: ${workload.name}\n`);
  try {
    const { size, rounds } = options;
    const bench = { size, rounds, engines: enginesOf(options), workDir, deadlineMs };
    const { name, about } = workload;
    const outcomes = await workload.run(bench);
    return { sections: outcomes.map((each) => ({ ...each, workload: name, about })), skipped: [] };
  } catch (error) {
    const reason = (error as Error).stack ?? String(error);
    process.stderr.write(`bench: ${workload.name} failed: ${reason}\n`);
    return { sections: [], skipped: [{ name: workload.name, reason, failed: true }] };
  } finally {
    await rm(workDir, { recursive: true, force: true });
  }
}

function enginesOf({ peer, etcdutl: binary }: Options): Engines {
  return {
    ours: etcdbr('native'),
    embedded: etcdbr('embedded'),
    etcdctl,
    etcdutl: etcdutl(binary),
    bbolt,
    goTool: goTool(peer),
    reading,
    copying,
    digesting,
    decompressing,
  };
}

try {
  await main(process.argv.slice(2));
} catch (error) {
  if (!(error instanceof RangeError)) throw error;
  process.stderr.write(`bench: ${error.message}\n\n${USAGE}`);
  process.exitCode = 2;
}
