import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { findFaults, MAX_FILE_LINES, type Tree } from './layers/rules.js';

const TOP = fileURLToPath(new URL('..', import.meta.url));

test('the checkout keeps the layers of the architecture', () => {
  const tree = readTree();
  expect(tree.size).toBeGreaterThan(100);
  expect([...tree.keys()].filter((path) => path.endsWith('Cargo.toml')).length).toBeGreaterThan(3);
  expect(findFaults(tree)).toEqual([]);
});

describe('a planted fault is found', () => {
  test.each([
    [
      'an import upward',
      'src/store/local/put.ts',
      "import { x } from '../../restorer/x.js';",
      /store must not import restorer/,
    ],
    [
      'an import sideways',
      'src/etcd/x.ts',
      "import type { Store } from '../store/store.js';",
      /etcd must not import store/,
    ],
    [
      'errors and base',
      'src/base/x.ts',
      "import { BackupError } from '../errors.js';",
      /base must not import errors\.ts/,
    ],
    [
      'a re-export',
      'src/snapshot/x.ts',
      "export * from '../config/flag.js';",
      /snapshot must not import config/,
    ],
    [
      'over several lines',
      'src/config/x.ts',
      "import {\n  a,\n  b,\n} from '../native/x.js';",
      /config must not import native/,
    ],
    ['a bare import', 'src/pipeline/x.ts', "import '../restorer/x.js';", /pipeline must not import restorer/],
    [
      'a dynamic import',
      'src/native/x.ts',
      "await import('../pipeline/x.js');",
      /native must not import pipeline/,
    ],
    [
      'a worker',
      'src/store/x.ts',
      "new URL('../pipeline/worker.js', import.meta.url)",
      /store must not import pipeline/,
    ],
    ['the entry', 'src/cli/x.ts', "import '../main.js';", /cli must not import main\.ts/],
    ['a room that nobody planned', 'src/sync/x.ts', '', /no room "sync"/],
    ['a file beside the rooms', 'src/index.ts', '', /no room "index\.ts"/],
    [
      'IO in the pure room',
      'src/snapshot/x.ts',
      "import { readFile } from 'node:fs/promises';",
      /must not import node:fs/,
    ],
    ['a package in base', 'src/base/x.ts', "import pino from 'pino';", /base must not import pino/],
    [
      'a package outside of its room',
      'src/restorer/x.ts',
      "import { Etcd3 } from 'etcd3';",
      /must not import etcd3/,
    ],
    ['a clock in the pure room', 'src/snapshot/x.ts', 'const now = Date.now();', /no clock/],
    ['an exit', 'src/cli/x.ts', 'process.exit(1);', /only main\.ts ends/],
    ['an exit code', 'src/cli/x.ts', 'process.exitCode = 1;', /only main\.ts ends/],
    ['the environment', 'src/store/x.ts', 'const { HOME } = process.env;', /only config and cli/],
    ['a long file', 'src/store/x.ts', '\n'.repeat(MAX_FILE_LINES + 1), /401 lines/],
    ['a long Rust file', 'crates/delta/src/x.rs', '\n'.repeat(MAX_FILE_LINES + 1), /401 lines/],
    ['a drawer', 'src/store/utils.ts', '', /drawer/],
    ['a drawer as a folder', 'crates/delta/src/helpers/x.rs', '', /drawer/],
    ['a drawer of tests', 'test/store/helpers.test.ts', '', /drawer/],
    [
      'a crate that looks up',
      'crates/bbolt/Cargo.toml',
      '[dependencies]\ndelta.workspace = true',
      /bbolt must not depend on delta/,
    ],
    [
      'a crate that looks sideways',
      'crates/pack/Cargo.toml',
      '[dependencies]\netcd-data = { path = "../etcd-data" }',
      /pack must not depend on etcd-data/,
    ],
    [
      'also for its tests',
      'crates/etcd-data/Cargo.toml',
      '[dev-dependencies.addon]\npath = "../addon"',
      /must not depend on addon/,
    ],
    ['a crate that nobody planned', 'crates/glue/Cargo.toml', '', /no crate "glue"/],
  ])('%s', (_, path, text, fault) => {
    const faults = findFaults(new Map([[path, text]]));
    expect(faults).toHaveLength(1);
    expect(faults[0]).toMatch(fault);
    expect(faults[0]).toContain(path);
  });
});

describe('what is allowed is not complained about', () => {
  test.each([
    ['an import downward', 'src/restorer/x.ts', "import { plan } from '../snapshot/chain.js';"],
    ['within the room', 'src/store/local/x.ts', "import { checkKey } from '../key.js';"],
    ['the package file', 'src/cli/x.ts', "require('../../package.json')"],
    ['a comment', 'src/store/x.ts', "// import { x } from '../cli/x.js'; process.env\n/* process.exit() */"],
    ['a generated file', 'src/native/binding.d.ts', '\n'.repeat(1000)],
    ['reading the exit code', 'src/cli/x.ts', 'if (process.exitCode === 1) stop();'],
    [
      'a crate that looks down',
      'crates/delta/Cargo.toml',
      '[dependencies]\nbbolt.workspace = true\n\n[package]\naddon = 1',
    ],
  ])('%s', (_, path, text) => {
    expect(findFaults(new Map([[path, text]]))).toEqual([]);
  });
});

/** Everything that is, or is about to be, committed. */
function readTree(): Tree {
  const list = execFileSync(
    'git',
    ['ls-files', '-co', '--exclude-standard', 'src', 'crates', 'test', 'bench'],
    {
      cwd: TOP,
      encoding: 'utf8',
      maxBuffer: 64 * 1024 * 1024,
    },
  );
  const paths = list
    .split('\n')
    .filter((path) => /\.(ts|rs)$|Cargo\.toml$/.test(path) && existsSync(TOP + path));
  return new Map(paths.map((path) => [path, readFileSync(TOP + path, 'utf8')]));
}
