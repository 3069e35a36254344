/** The report as one HTML file, plots included. */
import type { Results, Section } from '../results.js';
import { markdown } from './markdown.js';
import { plotName } from './plots.js';

const STYLE = `body{font:15px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#222}
table{border-collapse:collapse;margin:1rem 0}td,th{border-bottom:1px solid #ddd;padding:.2rem .7rem;text-align:left}
pre{background:#f6f6f6;padding:1rem;overflow:auto}svg{max-width:100%;height:auto}`;

/** Understands the Markdown that `markdown.ts` writes, and no more. */
export function html(results: Results, plots: ReadonlyMap<string, string>): string {
  const blocks = markdown(results).trimEnd().split(/\n\n+/);
  const body = blocks.map((block) => blockHtml(block, results.sections, plots)).join('\n');
  return `<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>Benchmarks</title><style>${STYLE}</style></head>\n<body>\n${body}\n</body></html>\n`;
}

function blockHtml(block: string, sections: readonly Section[], plots: ReadonlyMap<string, string>): string {
  const heading = /^(#+) (.*)$/.exec(block);
  if (heading !== null) return `<h${heading[1]?.length}>${inline(heading[2] ?? '')}</h${heading[1]?.length}>`;
  const image = sections.map(plotName).find((name) => block.endsWith(`](${name})`));
  if (image !== undefined) return `<figure>${plots.get(image) ?? ''}</figure>`;
  if (block.startsWith('```')) return `<pre>${escaped(block.replace(/^```\n|\n```$/g, ''))}</pre>`;
  if (block.startsWith('| ')) return tableHtml(block);
  return `<p>${inline(block)}</p>`;
}

function tableHtml(block: string): string {
  const [head = '', , ...rows] = block.split('\n');
  const cells = (line: string, tag: string) =>
    line
      .slice(2, -2)
      .split(/ \| /)
      .map((cell) => `<${tag}>${inline(cell.trim())}</${tag}>`)
      .join('');
  return `<table><tr>${cells(head, 'th')}</tr>\n${rows.map((line) => `<tr>${cells(line, 'td')}</tr>`).join('\n')}</table>`;
}

function inline(text: string): string {
  return escaped(text)
    .replace(/`([^`]+)`/g, '<code>$1</code>')
    .replace(/\*\*([^*]+)\*\*/g, '<strong>$1</strong>')
    .replace(/\*([^*]+)\*/g, '<em>$1</em>');
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
