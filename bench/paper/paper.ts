/** Writes the report of a run: report.md, report.html and plots/, one SVG for each section. */
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Results } from '../results.js';
import { html } from './html.js';
import { markdown } from './markdown.js';
import { PLOT_DIR, plot, plotName } from './plots.js';

export async function writePaper(results: Results, dir: string): Promise<void> {
  const plots = new Map<string, string>();
  for (const section of results.sections) plots.set(plotName(section), await plot(section));
  await rm(join(dir, PLOT_DIR), { recursive: true, force: true });
  await mkdir(join(dir, PLOT_DIR), { recursive: true });
  for (const [name, svg] of plots) await writeFile(join(dir, name), svg);
  await writeFile(join(dir, 'report.md'), markdown(results));
  await writeFile(join(dir, 'report.html'), html(results, plots));
}
