#!/usr/bin/env bash
# The long forms of the random tests (`npm run test:long`): 10,000 mutations per format, 50 kills of
# backups and restores each, 60,000 planner histories, 504,438 objects, a watcher 200,000 revisions behind. Figures of
# the last run are in bench/README.md.
set -euo pipefail
cd "$(dirname "$0")/.."
# The addon is built for a named target; tests built for the same one share its compiled dependencies.
CARGO_BUILD_TARGET=$(rustc -vV | sed -n 's/^host: //p')
export CARGO_BUILD_TARGET
export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/etcdbr/target}"
bash test/servers/etcd.sh all
npm run --silent build
ETCDBR_MUTATIONS=10000 cargo test --release --locked -p bbolt -p etcd-data --test mutations
ETCDBR_MUTATIONS=10000 cargo test --release --locked -p delta --test damage
ETCDBR_KILLS=50 ETCDBR_BEHIND=200000 ETCDBR_BIG_PUTS=3000 npx vitest run test/hazard --testTimeout 1800000
PLANNER_RUNS=60000 npx vitest run test/snapshot/chain.property.test.ts --testTimeout 1800000
ETCDBR_TEST_FULL=1 npx vitest run test/store --testTimeout 1800000
