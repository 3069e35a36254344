/** Compares a build with a copy of itself, which must pass, and with a copy that wastes time, which must not. */
import { cp, mkdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { etcdbr, ROOT } from '../engines/etcdbr.js';
import { measure } from '../measure.js';
import type { Case } from './cases.js';
import { compareCase, type Judged, MEASURES } from './compare.js';

/** Of the time that the build takes by itself. */
const PLANTED_SHARE = 0.35;
const PLANTED_MS = 'ETCDBR_BENCH_PLANTED_MS';

/** What did not come out as it must; empty when all is well. */
export async function selfTest(each: Case, rounds: number, workDir: string): Promise<string[]> {
  const dist = join(ROOT, 'dist');
  const options = { rounds, judgements: MEASURES.length };
  const base = etcdbr('native', dist);
  const equal = etcdbr('native', await copyOf(dist, join(workDir, 'equal')));
  const planted = etcdbr('native', await copyOf(dist, join(workDir, 'planted'), busyLoop));
  const job = each.job(base);
  if (typeof job === 'string') return [job];
  process.env[PLANTED_MS] = `${Math.ceil((await measure(job)).wallMs * PLANTED_SHARE)}`;
  const faults: string[] = [];
  const expect = async (next: typeof base, what: string, isRight: (judged: readonly Judged[]) => boolean) => {
    const judged = await compareCase(each, { base, next }, options);
    if (typeof judged === 'string') return void faults.push(judged);
    const text = judged.map((one) => `${one.measure} ${one.slowdown.toFixed(2)}x`).join(', ');
    process.stdout.write(`self-test: ${what}: ${text}\n`);
    if (!isRight(judged)) faults.push(`${what}: judged wrongly (${text})`);
  };
  await expect(equal, 'a copy of the same build', (judged) => judged.every(({ isSlower }) => !isSlower));
  await expect(planted, `a copy made ${PLANTED_SHARE * 100}% slower`, (judged) =>
    judged.some(({ isSlower }) => isSlower),
  );
  return faults;
}

/** Beside a link to the checkout's packages, so that the copy finds what it imports. */
async function copyOf(dist: string, to: string, change = (main: string) => main): Promise<string> {
  await mkdir(to);
  await cp(dist, join(to, 'dist'), { recursive: true });
  await symlink(join(ROOT, 'node_modules'), join(to, 'node_modules'));
  await cp(join(ROOT, 'package.json'), join(to, 'package.json'));
  const main = join(to, 'dist', 'main.js');
  await writeFile(main, change(await readFile(main, 'utf8')));
  return join(to, 'dist');
}

function busyLoop(main: string): string {
  const lines = main.split('\n');
  const loop = `{ const end = performance.now() + Number(process.env.${PLANTED_MS}); while (performance.now() < end); }`;
  // Behind the line that names the interpreter.
  return [lines[0], loop, ...lines.slice(1)].join('\n');
}
