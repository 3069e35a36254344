/** Plots of a section, drawn by vega-lite into SVG. */
import { parse, View } from 'vega';
import { compile, type TopLevelSpec } from 'vega-lite';
import type { Contestant, Section } from '../results.js';
import { median, spread } from '../statistics.js';

const COLORS = { domain: ['ours', 'peer', 'floor'], range: ['#1f6f8b', '#c77d3a', '#9aa5a9'] };
const WIDTH = 520;
const SERIES_WIDTH = 240;

/** Beside the report, and nothing else in it. */
export const PLOT_DIR = 'plots';

/** The file's name beside the report, from the section's title. */
export function plotName({ title }: Pick<Section, 'title'>): string {
  return `${PLOT_DIR}/${title.toLowerCase().replace(/[^a-z0-9]+/g, '-')}.svg`;
}

export async function plot(section: Section): Promise<string> {
  const isSeries = section.contestants.some(({ inputBytes }) => inputBytes !== undefined);
  const { spec } = compile(isSeries ? seriesSpec(section) : raceSpec(section));
  return new View(parse(spec), { renderer: 'none' }).toSVG();
}

/** One bar for each contestant: the median, with a line from the least to the most. */
function raceSpec({ contestants, rateUnit }: Section): TopLevelSpec {
  const values = contestants.map(({ name, role, runs }) => ({
    name,
    role,
    ...spread(runs.map(({ wallMs, rate }) => (rateUnit === undefined ? wallMs / 1000 : (rate ?? 0)))),
  }));
  const title = rateUnit ?? 'seconds';
  const y = { field: 'name', type: 'nominal', sort: null, title: null, axis: { labelLimit: 260 } } as const;
  return {
    width: WIDTH,
    data: { values },
    layer: [
      {
        mark: { type: 'bar', height: 14 },
        encoding: {
          y,
          x: { field: 'median', type: 'quantitative', title },
          color: { field: 'role', type: 'nominal', scale: COLORS, title: null },
        },
      },
      {
        mark: { type: 'rule', color: '#222' },
        encoding: { y, x: { field: 'min', type: 'quantitative' }, x2: { field: 'max' } },
      },
    ],
  };
}

/** Time and memory over the size of the input. */
function seriesSpec({ contestants }: Section): TopLevelSpec {
  const values = contestants.map(({ inputBytes = 0, runs, role }: Contestant) => ({
    role,
    gib: inputBytes / 1024 ** 3,
    seconds: median(runs.map(({ wallMs }) => wallMs)) / 1000,
    mib: median(runs.map(({ peakRssBytes = 0 }) => peakRssBytes)) / 1024 ** 2,
  }));
  const panel = (field: string, title: string) =>
    ({
      width: SERIES_WIDTH,
      mark: { type: 'line', point: true },
      encoding: {
        x: { field: 'gib', type: 'quantitative', title: 'base, GiB' },
        y: { field, type: 'quantitative', title, scale: { zero: true } },
        color: { field: 'role', type: 'nominal', scale: COLORS, title: null },
      },
    }) as const;
  return { data: { values }, hconcat: [panel('seconds', 'seconds'), panel('mib', 'peak RSS, MiB')] };
}
