#!/usr/bin/env bash
# Puts the etcds that demo, tests and CI run against into a cache outside the checkout:
#   ${XDG_CACHE_HOME:-$HOME/.cache}/etcdbr/etcd/<version>/{etcd,etcdctl,etcdutl}   (3.4 has no etcdutl)
#   ${XDG_CACHE_HOME:-$HOME/.cache}/etcdbr/bbolt/bbolt
# No service is installed and PATH is not touched. What is there already is left alone, so a second run is instant.
# A version appears by one rename of a finished directory: a run that was killed leaves nothing half-made.
#
#   bash test/servers/etcd.sh all | VERSION… | bbolt
set -euo pipefail

readonly GO_VERSIONS=(3.5.35 3.6.16 3.7.3)
readonly DEBIAN_VERSION=3.4.23
readonly BBOLT_VERSION=1.5.0
readonly ALL=("$DEBIAN_VERSION" "${GO_VERSIONS[@]}" bbolt)
readonly LOCK_WAIT_SECONDS=1500

cache="${XDG_CACHE_HOME:-$HOME/.cache}/etcdbr"
work=""

main() {
  local wanted=("$@")
  [[ $# -gt 0 ]] || fail "usage: bash test/servers/etcd.sh all | ${ALL[*]}"
  [[ $# -ne 1 || $1 != all ]] || wanted=("${ALL[@]}")
  local each
  for each in "${wanted[@]}"; do
    is_known "$each" || fail "unknown version '$each'; known: all ${ALL[*]}"
  done
  mkdir -p "$cache/etcd"
  take_lock
  trap 'rm -rf "$work"' EXIT
  trap 'exit 129' HUP; trap 'exit 130' INT; trap 'exit 143' TERM
  rm -rf "$cache"/.build.*        # of killed runs: the lock says that no other run is alive
  for each in "${wanted[@]}"; do
    provide "$each"
  done
}

is_known() {
  local known
  for known in "${ALL[@]}"; do [[ $known != "$1" ]] || return 0; done
  return 1
}

provide() {
  local version=$1 target="$cache/etcd/$1"
  [[ $version != bbolt ]] || target="$cache/bbolt"
  if [[ -x $target/etcd || -x $target/bbolt ]]; then
    echo "etcd.sh: $version is there: $target"
    return
  fi
  echo "etcd.sh: $version: being made (a build of etcd takes about 75 s on two cores)"
  work=$(mktemp -d "$cache/.build.XXXXXX")
  mkdir "$work/out" "$work/module"
  case $version in
    bbolt) go_build bbolt "$BBOLT_VERSION" go.etcd.io/bbolt/cmd/bbolt ;;
    "$DEBIAN_VERSION") from_debian ;;
    *) go_build_etcd "$version" ;;
  esac
  rm -rf "$target"
  mv -T "$work/out" "$target"
  rm -rf "$work"
  echo "etcd.sh: $version: done: $target"
}

go_build_etcd() {
  go_build etcd "$1" go.etcd.io/etcd/server/v3
  go_build etcdctl "$1" go.etcd.io/etcd/etcdctl/v3
  go_build etcdutl "$1" go.etcd.io/etcd/etcdutl/v3
  "$work/out/etcd" --version | grep -qx "etcd Version: $1" || fail "the built etcd does not say that it is $1"
}

# Each program is built from a module of its own that pins one version: its dependencies follow from that alone.
go_build() {
  local program=$1 version=$2 package=$3 log="$work/go.log"
  command -v go >/dev/null || fail "Go is missing, needed to build $program $version; install Go 1.26 or newer (go.dev/doc/install)"
  (
    mkdir "$work/module/$program" && cd "$work/module/$program"
    go mod init "etcdbr.test/$program"
    go get "$package@v$version"
    CGO_ENABLED=0 go build -mod=mod -trimpath -ldflags '-s -w' -o "$work/out/$program" "$package"
  ) >"$log" 2>&1 || { tail -n 20 "$log" >&2; fail "building $program $version failed (see above)"; }
}

from_debian() {
  command -v apt-get >/dev/null || fail "apt-get is missing: etcd $DEBIAN_VERSION comes from Debian 12's etcd-server and etcd-client"
  (
    cd "$work/module"
    download_debian || { apt-get update >apt.log 2>&1 && download_debian; } || { tail -n 20 apt.log >&2; exit 1; }
    local package
    for package in ./*.deb; do dpkg -x "$package" root; done
    cp root/usr/bin/etcd root/usr/bin/etcdctl "$work/out/"
  ) || fail "Debian's etcd-server and etcd-client $DEBIAN_VERSION could not be had; run 'apt-get update' as root and try again"
  "$work/out/etcd" --version | grep -q "etcd Version: $DEBIAN_VERSION" || fail "Debian's etcd is not $DEBIAN_VERSION"
}

download_debian() {
  apt-get download "etcd-server=$DEBIAN_VERSION*" "etcd-client=$DEBIAN_VERSION*" >>apt.log 2>&1
}

take_lock() {
  exec 9>"$cache/.lock"
  flock -n 9 && return
  echo "etcd.sh: another run is building; waiting up to ${LOCK_WAIT_SECONDS} s"
  flock -w "$LOCK_WAIT_SECONDS" 9 || fail "another run has held $cache/.lock for ${LOCK_WAIT_SECONDS} s; end it and try again"
}

fail() {
  echo "etcd.sh: $*" >&2
  exit 1
}

main "$@"
