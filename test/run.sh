#!/usr/bin/env bash
# The README's test command (`npm test`): sets up the test servers, builds, lints, runs every suite and ends with
# one line over all of them. What is slow to build stays in a cache outside the checkout.
#   bash test/run.sh [--no-lint]
set -uo pipefail
cd "$(dirname "$0")/.."
cache="${XDG_CACHE_HOME:-$HOME/.cache}/etcdbr"
# The addon is built for a named target; tests built for the same one share its compiled dependencies.
CARGO_BUILD_TARGET=$(rustc -vV | sed -n 's/^host: //p')
export CARGO_BUILD_TARGET
export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-$cache/target}"
logs=$(mktemp -d)
trap 'rm -rf "$logs"' EXIT
failed_steps=0

step() {
  local name=$1
  shift
  printf '\n== %s\n' "$name"
  local start=$SECONDS
  if "$@" 2>&1 | tee "$logs/$name"; then
    printf '== %s: %ss\n' "$name" $((SECONDS - start))
  else
    failed_steps=$((failed_steps + 1))
    printf '== %s FAILED after %ss\n' "$name" $((SECONDS - start))
  fi
}

step servers bash test/servers/etcd.sh all
step build npm run --silent build
if [ "${1:-}" != --no-lint ]; then step lint npm run --silent lint; fi
step rust cargo test --workspace --release --locked --no-fail-fast
step typescript npx vitest run --reporter=default --reporter=json --outputFile.json="$logs/vitest.json"

rust() { sed -n "s/^test result: .* \([0-9]*\) $1;.*/\1/p" "$logs/rust" | awk '{ sum += $1 } END { print sum + 0 }'; }
vitest() {
  node -e 'const { readFileSync } = require("node:fs");
    let count = 0;
    try { count = JSON.parse(readFileSync(process.argv[1], "utf8"))[process.argv[2]]; } catch {}
    console.log(count);' "$logs/vitest.json" "$1"
}
passed=$(($(rust passed) + $(vitest numPassedTests)))
failed=$(($(rust failed) + $(vitest numFailedTests)))
# A step that failed without a failing test (a build, a lint, a suite that did not load) is a failure all the same.
if [ "$failed" -eq 0 ]; then failed=$failed_steps; fi
printf '\n%s passed, %s failed\n' "$passed" "$failed"
[ "$failed" -eq 0 ] && [ "$failed_steps" -eq 0 ] && [ "$passed" -gt 0 ]
