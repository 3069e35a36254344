/** Results as Markdown rows. */
import { formatBytes } from '../src/base/bytes.js';
import { type Measured, median } from './measure.js';

export function row(name: string, runs: readonly Measured[], note = ''): string {
  const wall = runs.map(({ wallMs }) => wallMs / 1000);
  const spread = runs.length > 1 ? ` (${Math.min(...wall).toFixed(2)}-${Math.max(...wall).toFixed(2)})` : '';
  const cpu = median(runs.map(({ cpuMs }) => cpuMs / 1000)).toFixed(2);
  const rss = formatBytes(Math.max(...runs.map(({ peakRssBytes }) => peakRssBytes)));
  return `| ${name} | ${median(wall).toFixed(2)} s${spread} | ${cpu} s | ${rss} | ${note} |`;
}

export const head = '| what | wall, median (min-max) | CPU | peak RSS | note |\n|---|---|---|---|---|';

export function ratio(ours: readonly Measured[], peer: readonly Measured[]): string {
  const of = (runs: readonly Measured[]) => median(runs.map(({ wallMs }) => wallMs));
  return `${(of(ours) / of(peer)).toFixed(2)} x its time`;
}
