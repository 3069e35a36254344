/**
 * The architecture's table, as data, and what breaks it. A folder imports only from lines above its own; folders on
 * one line do not see each other. Pure functions over an in-memory tree, so that they can be tested with planted faults.
 */
import { posix } from 'node:path';

/** Path, from the top of the checkout, to text. */
export type Tree = ReadonlyMap<string, string>;

const LINES: readonly (readonly string[])[] = [
  ['errors.ts', 'base'],
  ['snapshot', 'metrics'],
  ['config'],
  ['native', 'store', 'etcd', 'k8s'],
  ['pipeline'],
  ['validator', 'retention', 'snapshotter', 'restorer', 'copier', 'reader'],
  ['initializer', 'leader', 'supervisor', 'compactor'],
  ['server'],
  ['cli'],
  ['main.ts'],
];
const CRATE_LINES: readonly (readonly string[])[] = [
  ['bbolt'],
  ['pack', 'etcd-data'],
  ['delta'],
  ['engine'],
  ['addon'],
];

export const MAX_FILE_LINES = 400;
const DRAWER = /^(utils?|helpers?|common|types|managers?)$/i;
const GENERATED = /^src\/native\/binding\.(js|d\.ts)$/;

/** The one exit, and the one place that sets what the process ends with. */
const MAY_EXIT = /^src\/main\.ts$/;
/** Those who read settings; and one that hands the environment on to the child it starts, without reading it. */
const MAY_READ_ENV = /^src\/(config|cli)\/|^src\/etcd\/etcd-binary\.ts$/;

/** Packages and builtins that a room is limited to. */
const ONLY: ReadonlyMap<string, RegExp> = new Map([
  ['base', /^node:/],
  ['snapshot', /^valibot$/],
]);
/** Packages that are imported in one room only. */
const ONLY_IN: ReadonlyMap<string, string> = new Map([
  ['prom-client', 'metrics'],
  ['piscina', 'pipeline'],
  ['commander', 'cli'],
  ['etcd3', 'etcd'],
  ['@grpc/grpc-js', 'etcd'],
]);

/** One line for each thing that is wrong. */
export function findFaults(tree: Tree): string[] {
  const faults: string[] = [];
  for (const [path, text] of tree) {
    faults.push(...nameFaults(path));
    if (!GENERATED.test(path)) faults.push(...lengthFaults(path, text));
    if (/^src\/.*\.ts$/.test(path) && !GENERATED.test(path)) {
      faults.push(...importFaults(path, text), ...globalFaults(path, text));
    }
    if (/^crates\/[^/]+\/Cargo\.toml$/.test(path)) faults.push(...crateFaults(path, text));
  }
  return faults;
}

function nameFaults(path: string): string[] {
  const drawer = path.split('/').find((element) => DRAWER.test(element.replace(/\.(test\.)?(ts|rs)$/, '')));
  return drawer === undefined ? [] : [`${path}: "${drawer}" is a drawer; name it after what it does`];
}

function lengthFaults(path: string, text: string): string[] {
  if (!/\.(ts|rs)$/.test(path)) return [];
  const lines = text.split('\n').length - 1;
  return lines > MAX_FILE_LINES ? [`${path}: ${lines} lines, at most ${MAX_FILE_LINES}`] : [];
}

function importFaults(path: string, text: string): string[] {
  const room = roomOf(path);
  const line = LINES.findIndex((rooms) => rooms.includes(room));
  if (line === -1) return [`${path}: the table has no room "${room}"`];
  const faults: string[] = [];
  for (const target of importsOf(text)) {
    if (!target.startsWith('.')) {
      if (!isAllowedPackage(room, target)) faults.push(`${path}: ${room} must not import ${target}`);
      continue;
    }
    const imported = roomOf(posix.join(posix.dirname(path), target).replace(/\.js$/, '.ts'));
    if (imported === room || imported === 'outside') continue;
    const above = LINES.slice(0, line).some((rooms) => rooms.includes(imported));
    if (!above) faults.push(`${path}: ${room} must not import ${imported}`);
  }
  return faults;
}

function isAllowedPackage(room: string, target: string): boolean {
  const name = target.startsWith('@')
    ? target.split('/').slice(0, 2).join('/')
    : (target.split('/')[0] ?? '');
  const only = ONLY.get(room);
  const onlyIn = ONLY_IN.get(name);
  return (only === undefined || only.test(target)) && (onlyIn === undefined || onlyIn === room);
}

function globalFaults(path: string, text: string): string[] {
  const code = withoutComments(text);
  const faults: string[] = [];
  if (/\bprocess\.(exit\b|exitCode\s*=(?!=)|abort\b)/.test(code) && !MAY_EXIT.test(path)) {
    faults.push(`${path}: only main.ts ends the process`);
  }
  if (/\bprocess\.env\b/.test(code) && !MAY_READ_ENV.test(path)) {
    faults.push(`${path}: only config and cli read the environment`);
  }
  if (
    roomOf(path) === 'snapshot' &&
    /\b(Date\.now|new Date|Math\.random|performance\.|process\.)/.test(code)
  ) {
    faults.push(`${path}: snapshot has no clock, no chance and no process`);
  }
  return faults;
}

function crateFaults(path: string, text: string): string[] {
  const crate = path.split('/')[1] ?? '';
  const line = CRATE_LINES.findIndex((crates) => crates.includes(crate));
  if (line === -1) return [`${path}: the table has no crate "${crate}"`];
  const above = CRATE_LINES.slice(0, line).flat();
  const others = CRATE_LINES.flat().filter((other) => other !== crate && !above.includes(other));
  return others
    .filter((other) => dependenciesOf(text).includes(other))
    .map((other) => `${path}: ${crate} must not depend on ${other}`);
}

/** Names in every dependency table: `x = …`, `x.workspace = true`, `[dependencies.x]`. */
function dependenciesOf(toml: string): string[] {
  const names: string[] = [];
  let inTable = false;
  for (const line of toml.split('\n').map((one) => one.trim())) {
    const table = /^\[(.*)\]$/.exec(line)?.[1];
    if (table !== undefined) {
      inTable = /(^|\.)(dev-|build-)?dependencies$/.test(table);
      const named = /(^|\.)(dev-|build-)?dependencies\.([\w-]+)$/.exec(table)?.[3];
      if (named !== undefined) names.push(named);
    } else if (inTable) {
      const name = /^([\w-]+)\s*[.=]/.exec(line)?.[1];
      if (name !== undefined) names.push(name);
    }
  }
  return names;
}

function roomOf(path: string): string {
  const [top, room] = path.split('/');
  return top === 'src' && room !== undefined ? room : 'outside';
}

/** Static and dynamic imports, re-exports, and files named for a worker or a child. */
function importsOf(text: string): string[] {
  const code = withoutComments(text);
  const forms = [
    /\b(?:import|export)\s[^'"`;]*?\bfrom\s*['"]([^'"]+)['"]/g,
    /\bimport\s*['"]([^'"]+)['"]/g,
    /\bimport\s*\(\s*['"]([^'"]+)['"]/g,
    /\bimport\.meta\.resolve\(\s*['"]([^'"]+)['"]/g,
    /\bnew URL\(\s*['"](\.[^'"]+)['"]\s*,\s*import\.meta\.url/g,
    /\brequire\s*\(\s*['"]([^'"]+)['"]/g,
  ];
  return forms.flatMap((form) => [...code.matchAll(form)].map((match) => match[1] ?? ''));
}

/** Good enough for our own formatted code: a "//" inside a string is only cut when a blank stands before it. */
function withoutComments(text: string): string {
  return text.replace(/\/\*[\s\S]*?\*\//g, '').replace(/(^|\s)\/\/.*$/gm, '$1');
}
