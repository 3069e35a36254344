/** The report as Markdown. */
import { formatBytes } from '../../src/base/bytes.js';
import type { Bar, Machine, Results, Section, Skipped } from '../results.js';
import {
  barText,
  cpuText,
  isReached,
  limitText,
  memoryText,
  rateText,
  relativeText,
  wallText,
} from './figures.js';
import { plotName } from './plots.js';

export function markdown(results: Results): string {
  const bars = results.sections.flatMap((section) => section.bars);
  return [
    '# Benchmarks',
    `\`${results.command}\`, ${results.startedAt}, ${Math.round(results.tookMs / 60_000)} minutes. Size ${results.size}.`,
    machineMarkdown(results.machine),
    bars.length === 0 ? '' : `## Bars\n\n${barsNote(results)}\n\n${barsMarkdown(bars)}`,
    ...results.skipped.map(skippedMarkdown),
    ...results.sections.map(
      (section) => `${sectionMarkdown(section)}\n\n![${section.title}](${plotName(section)})`,
    ),
  ]
    .filter(Boolean)
    .join('\n\n')
    .concat('\n');
}

export function sectionMarkdown({
  title,
  about,
  input,
  contestants,
  skipped,
  rateUnit,
  bars,
}: Section): string {
  const heads = [
    '',
    'wall, median (min-max)',
    'CPU',
    'peak RSS',
    'to ours',
    ...(rateUnit ? ['rate'] : []),
    'runs',
  ];
  const rows = contestants.map((each) => {
    const name =
      each.role === 'ours' ? `**${each.name}**` : each.role === 'floor' ? `*${each.name}*` : each.name;
    const cells = [
      name,
      wallText(each.runs),
      cpuText(each.runs),
      memoryText(each.runs),
      relativeText(each, contestants),
      ...(rateUnit ? [rateText(each.runs, rateUnit)] : []),
      [`${each.runs.length}`, each.note ?? ''].filter(Boolean).join('; '),
    ];
    return row(cells);
  });
  const table = contestants.length === 0 ? '' : [row(heads), row(heads.map(() => '---')), ...rows].join('\n');
  return [
    `## ${title}`,
    `${about} Input: ${input}.`,
    table,
    ...skipped.map(skippedMarkdown),
    bars.length === 0 ? '' : barsMarkdown(bars),
  ]
    .filter(Boolean)
    .join('\n\n');
}

function barsNote({ size }: Results): string {
  return size === 'FULL'
    ? 'By the medians of all rounds.'
    : `The bars are set for the size FULL; this is ${size}.`;
}

function barsMarkdown(bars: readonly Bar[]): string {
  const rows = bars.map((bar) =>
    row([bar.text, limitText(bar), barText(bar), isReached(bar) ? 'reached' : '**not reached**']),
  );
  return [row(['what', 'bar', 'measured', '']), row(['---', '---', '---', '---']), ...rows].join('\n');
}

function skippedMarkdown({ name, reason, failed }: Skipped): string {
  return failed ? `**FAILED: ${name}**\n\n\`\`\`\n${reason}\n\`\`\`` : `Not run: ${name}: ${reason}.`;
}

function machineMarkdown(machine: Machine): string {
  const { cpu, cores, memoryBytes, kernel, diskBytesPerSecond, fsyncMs, loadAverage, versions } = machine;
  const disk = `disk: ${formatBytes(diskBytesPerSecond)}/s written and synced, fsync of 4 KiB in ${fsyncMs.toFixed(2)} ms`;
  const programs = Object.entries(versions).map(([program, version]) => `${program} ${version}`);
  return `${cores} x ${cpu}, ${formatBytes(memoryBytes)}, ${kernel}; ${disk}; load average at the start ${loadAverage.toFixed(1)}. ${programs.join('; ')}.`;
}

function row(cells: readonly string[]): string {
  return `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
}
