/** Numbers as the report prints them. */
import { formatBytes } from '../../src/base/bytes.js';
import type { Bar, Contestant, Run } from '../results.js';
import { median, spread } from '../statistics.js';

/** "1.23 s (1.20-1.31)"; milliseconds below a tenth of a second. */
export function wallText(runs: readonly Run[]): string {
  const { median: middle, min, max } = spread(runs.map(({ wallMs }) => wallMs));
  const [scale, unit] = middle < 100 ? [1, 'ms'] : [1000, 's'];
  const text = `${(middle / scale).toFixed(2)} ${unit}`;
  return runs.length < 2 ? text : `${text} (${(min / scale).toFixed(2)}-${(max / scale).toFixed(2)})`;
}

export function cpuText(runs: readonly Run[]): string {
  const known = runs.flatMap(({ cpuMs }) => (cpuMs === undefined ? [] : [cpuMs]));
  return known.length === 0 ? '' : `${(median(known) / 1000).toFixed(2)} s`;
}

export function memoryText(runs: readonly Run[]): string {
  const known = runs.flatMap(({ peakRssBytes }) => (peakRssBytes === undefined ? [] : [peakRssBytes]));
  return known.length === 0 ? '' : formatBytes(median(known));
}

export function rateText(runs: readonly Run[], unit: string): string {
  const known = runs.flatMap(({ rate }) => (rate === undefined ? [] : [rate]));
  if (known.length === 0) return '';
  const rate = median(known);
  return unit === 'bytes/s' ? `${formatBytes(rate)}/s` : `${thousands(Math.round(rate))} ${unit}`;
}

/** Whether the bar is reached, by the median. */
export function isReached({ values, atMost, atLeast }: Bar): boolean {
  const value = median(values);
  return value <= (atMost ?? Number.POSITIVE_INFINITY) && value >= (atLeast ?? Number.NEGATIVE_INFINITY);
}

export function barText({ values, unit }: Bar): string {
  const { median: middle, min, max } = spread(values);
  const text = amount(middle, unit);
  return values.length < 2 ? text : `${text} (${amount(min, unit)}-${amount(max, unit)})`;
}

export function limitText({ unit, atMost, atLeast }: Bar): string {
  return atMost === undefined ? `at least ${amount(atLeast ?? 0, unit)}` : `at most ${amount(atMost, unit)}`;
}

/** Its time in terms of the first of ours; "" for that one. */
export function relativeText(contestant: Contestant, contestants: readonly Contestant[]): string {
  const ours = contestants.find(({ role }) => role === 'ours');
  if (ours === undefined || ours === contestant) return '';
  const wall = (runs: readonly Run[]) => median(runs.map(({ wallMs }) => wallMs));
  return `${threeDigits(wall(contestant.runs) / wall(ours.runs))}x`;
}

/** Bars are in powers of ten, as they were set. */
function amount(value: number, unit: Bar['unit']): string {
  return unit === 'bytes' ? `${threeDigits(value / 1e6)} MB` : `${threeDigits(value)}x`;
}

function threeDigits(value: number): string {
  if (Math.abs(value) >= 99.95) return value.toFixed(0);
  return Math.abs(value) >= 9.995
    ? value.toFixed(1)
    : Math.abs(value) >= 0.1
      ? value.toFixed(2)
      : value.toFixed(3);
}

function thousands(value: number): string {
  return String(value).replace(/\B(?=(\d{3})+$)/g, ',');
}
