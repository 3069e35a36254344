/**
 * `npm run bench:compare -- BASE NEXT [--rounds N] [--size NAME]`: is the build NEXT slower than BASE? Each is a
 * checkout that has been built, or its dist directory. Exit code 1 when it is. `--self-test` proves that it would say so.
 */
import { existsSync } from 'node:fs';
import { mkdir, rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { removeLeftBehind, workDirOfThisRun } from '../datasets/cache.js';
import { etcdbr } from '../engines/etcdbr.js';
import { SIZES, type Size } from '../options.js';
import { type Case, comparedCases } from './cases.js';
import { type Builds, compareCase, MEASURES } from './compare.js';
import { selfTest } from './self-test.js';
import { roundsNeeded } from './verdict.js';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    rounds: { type: 'string', default: '16' },
    size: { type: 'string', default: 'SMALL' },
    'self-test': { type: 'boolean', default: false },
  },
});

async function main(): Promise<number> {
  const size = SIZES[values.size.toUpperCase()];
  const rounds = Number(values.rounds);
  const isSelfTest = values['self-test'];
  if (size === undefined || !Number.isSafeInteger(rounds) || positionals.length !== (isSelfTest ? 0 : 2)) {
    return usage(`give two builds, or --self-test alone; sizes are ${Object.keys(SIZES).join(', ')}`);
  }
  await removeLeftBehind();
  const workDir = workDirOfThisRun();
  await mkdir(workDir, { recursive: true });
  try {
    return isSelfTest ? await provenByItself(size, rounds, workDir) : await compared(size, rounds, workDir);
  } finally {
    await rm(workDir, { recursive: true, force: true });
  }
}

async function provenByItself(size: Size, rounds: number, workDir: string): Promise<number> {
  if (rounds < roundsNeeded(MEASURES.length)) return usage(tooFew(MEASURES.length));
  const [first] = await comparedCases(size, workDir);
  const faults = await selfTest(first as Case, rounds, workDir);
  for (const fault of faults) process.stderr.write(`bench:compare: ${fault}\n`);
  process.stdout.write(faults.length === 0 ? 'self-test: passed\n' : 'self-test: FAILED\n');
  return faults.length === 0 ? 0 : 1;
}

async function compared(size: Size, rounds: number, workDir: string): Promise<number> {
  const cases = await comparedCases(size, workDir);
  const judgements = cases.length * MEASURES.length;
  if (rounds < roundsNeeded(judgements)) return usage(tooFew(judgements));
  const [base, next] = positionals.map((path) => etcdbr('native', distOf(path)));
  const builds = { base, next } as Builds;
  let slower = 0;
  let judgedCases = 0;
  for (const each of cases) {
    const judged = await compareCase(each, builds, { rounds, judgements });
    if (typeof judged === 'string') {
      process.stdout.write(`${each.name}: not run: ${judged}\n`);
      continue;
    }
    judgedCases += 1;
    for (const one of judged) {
      const verdict = one.isSlower ? 'SLOWER' : 'not slower';
      process.stdout.write(
        `${each.name}, ${one.measure}: ${one.slowdown.toFixed(3)}x, chance ${one.chance.toFixed(4)}: ${verdict}\n`,
      );
      if (one.isSlower) slower += 1;
    }
  }
  if (judgedCases === 0) return usage('nothing could be compared');
  return slower === 0 ? 0 : 1;
}

function distOf(path: string): string {
  const inside = join(resolve(path), 'dist');
  return existsSync(join(inside, 'main.js')) ? inside : resolve(path);
}

function tooFew(judgements: number): string {
  return `--rounds: ${roundsNeeded(judgements)} at least, or nothing can be told`;
}

function usage(fault: string): number {
  process.stderr.write(
    `bench:compare: ${fault}\nusage: npm run bench:compare -- BASE NEXT | --self-test [--rounds N] [--size NAME]\n`,
  );
  return 2;
}

process.exitCode = await main();
