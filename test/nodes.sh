#!/usr/bin/env bash
# The TypeScript suite on every supported major version of Node (`npm run test:nodes`): the one in PATH, and the others
# from the npm registry into the cache. One addon serves all of them: it uses N-API only.
#   bash test/nodes.sh [FILTER...]   as for vitest
set -euo pipefail
cd "$(dirname "$0")/.."
cache="${XDG_CACHE_HOME:-$HOME/.cache}/etcdbr"
VERSIONS=(20.20.2 22.23.3 24.22.3)
arch=$(node -p process.arch)

bash test/servers/etcd.sh all
npm run --silent build
for version in "${VERSIONS[@]}"; do
  dir="$cache/node/$version"
  if [ ! -x "$dir/node_modules/node-linux-$arch/bin/node" ]; then
    npm install --silent --no-audit --no-fund --no-save --ignore-scripts --prefix "$dir" "node-linux-$arch@$version"
  fi
  export PATH="$dir/node_modules/node-linux-$arch/bin:$PATH"
  printf '\n== Node %s\n' "$(node --version)"
  [ "$(node --version)" = "v$version" ]
  npx vitest run "$@"
done
