/** What the documents tell people to type exists: commands, flags, scripts, files. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { commands } from '../src/cli/commands.js';

const TOP = fileURLToPath(new URL('..', import.meta.url));
const DOCUMENTS = ['README.md', ...readdirSync(join(TOP, 'docs')).map((name) => `docs/${name}`)];
/** Of other programs. */
const FOREIGN_FLAGS = new Set(['--omit']);

const flags = new Set(
  (await Promise.all(commands.map(({ load }) => load()))).flatMap(({ flags: sets }) =>
    sets.flatMap((set) => Object.values(set).map(({ name }) => `--${name}`)),
  ),
);
flags.add('--help');

test.each(DOCUMENTS)('%s: every flag is there', (document) => {
  const named = read(document).match(/(?<![\w-])--[a-z][a-z-]+/g) ?? [];
  expect(named.filter((flag) => !flags.has(flag) && !FOREIGN_FLAGS.has(flag))).toEqual([]);
});

test.each(DOCUMENTS)('%s: every command is there', (document) => {
  const blocks = [...read(document).matchAll(/^```[^`]*```/gm)].join('\n');
  const named = [...blocks.matchAll(/^etcdbr ((?:[a-z]+(?: \| )?)+)/gm)];
  const names = named.flatMap((match) => (match[1] ?? '').split(' | '));
  expect(names.filter((name) => !commands.some((command) => command.name === name))).toEqual([]);
});

test('the README names every command', () => {
  for (const { name } of commands) expect(read('README.md')).toMatch(new RegExp(`\\b${name}\\b`));
});

test.each(DOCUMENTS)('%s: every script is there', (document) => {
  const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> };
  const named = [...read(document).matchAll(/npm run ([\w:-]+)/g)].map((match) => match[1] ?? '');
  expect(named.filter((name) => scripts[name] === undefined)).toEqual([]);
});

test.each(DOCUMENTS)('%s: every link leads somewhere', (document) => {
  const targets = [...read(document).matchAll(/\]\(([^)]+)\)/g)].map((match) => match[1] ?? '');
  const broken = targets.filter((target) => {
    if (target.startsWith('https://')) return false;
    const [path = '', anchor] = target.split('#');
    const file = path === '' ? document : join(dirname(document), path);
    if (!existsSync(join(TOP, file))) return true;
    return anchor !== undefined && !anchorsOf(read(file)).includes(anchor);
  });
  expect(broken).toEqual([]);
});

function anchorsOf(markdown: string): string[] {
  return [...markdown.matchAll(/^#+ (.+)$/gm)].map(([, title = '']) =>
    title
      .toLowerCase()
      .replace(/[^\w\s-]/g, '')
      .replace(/\s/g, '-'),
  );
}

function read(document: string): string {
  return readFileSync(join(TOP, document), 'utf8');
}
