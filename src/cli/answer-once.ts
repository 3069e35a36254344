/** Settles for a verification whether two objects are of one history, as a restore would settle it. */
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { StoreConfig } from '../config/store.js';
import { FetchPool } from '../pipeline/pool.js';
import { answerQuestion } from '../restorer/answers.js';
import type { ContentAnswer, ContentQuestion } from '../snapshot/plan.js';
import type { CommandContext } from './command.js';

const FETCHERS = 2;

export async function answerOnce(
  { log, progress, signal }: CommandContext,
  settings: StoreConfig,
  question: ContentQuestion,
): Promise<ContentAnswer> {
  await mkdir(settings.tempDir, { recursive: true, mode: 0o700 });
  const workDir = await mkdtemp(join(settings.tempDir, 'etcdbr-question-'));
  const pool = new FetchPool({ maxFetchers: FETCHERS });
  try {
    const observer = {
      progress: progress.update.bind(progress),
      warn: (text: string) => log.warn(text),
      info: (text: string) => log.info(text),
    };
    return await answerQuestion({ pool, settings, workDir }, question, {
      ...{ skipHashCheck: false, observer, signal },
    });
  } finally {
    await pool.close();
    await rm(workDir, { recursive: true, force: true });
  }
}
