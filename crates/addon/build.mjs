// Builds the addon and its bindings into src/native, and copies them to dist/native.
//   node crates/addon/build.mjs dist|release   build with that cargo profile (`npm ci` uses dist: link-time optimised)
//   node crates/addon/build.mjs copy           copy what was built beside the compiled TypeScript
import { spawnSync } from 'node:child_process';
import { chmodSync, copyFileSync, existsSync, mkdirSync, readdirSync, renameSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = join(dirname(fileURLToPath(import.meta.url)), '..', '..');
const native = join(root, 'src', 'native');
const mode = process.argv[2];

if (mode === 'copy') copy();
else if (mode === 'dist' || mode === 'release') build(mode);
else fail('usage: node crates/addon/build.mjs dist|release|copy');

function build(profile) {
  const napi = join(root, 'node_modules', '.bin', 'napi');
  if (!existsSync(napi)) {
    fail(
      'etcdbr: cannot build from source without its development dependencies (@napi-rs/cli, typescript).\n' +
        'Run `npm ci` without --omit=dev; `npm prune --omit=dev` afterwards leaves a working program.',
    );
  }
  if (spawnSync('cargo', ['--version']).status !== 0) {
    fail(
      'etcdbr: Rust is needed to build the native addon, and `cargo` was not found. Get it with rustup, then run `npm ci` again.',
    );
  }
  const args = [
    'build',
    '--profile',
    profile,
    '--platform',
    '--esm',
    '--js',
    'binding.js',
    '--dts',
    'binding.d.ts',
  ];
  args.push('--output-dir', native, '--manifest-path', join(root, 'crates', 'addon', 'Cargo.toml'));
  args.push('--package-json-path', join(root, 'package.json'));
  const { status } = spawnSync(napi, [...args, '--', '--locked'], { cwd: root, stdio: 'inherit' });
  if (status !== 0) fail('etcdbr: the native addon did not build; the compiler says why above.');
}

function copy() {
  const target = join(root, 'dist', 'native');
  mkdirSync(target, { recursive: true });
  for (const name of readdirSync(native)) {
    if (name.startsWith('binding.') || name.endsWith('.node'))
      replace(join(native, name), join(target, name));
  }
  chmodSync(join(root, 'dist', 'main.js'), 0o755);
}

/** Never in place: a process that has the old addon loaded would die with it. */
function replace(from, to) {
  copyFileSync(from, `${to}.new`);
  renameSync(`${to}.new`, to);
}

function fail(text) {
  process.stderr.write(`${text}\n`);
  process.exit(1);
}
