# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# Installs what is missing, on Debian; elsewhere it says what is. A line of a
# list is a command, header or library that proves it is there, and the package.

PACKAGES_BUILD='
cc            build-essential
cmake         cmake
ninja         ninja-build
pkg-config    pkg-config
lua5.4        lua5.4
lua5.4.pc     liblua5.4-dev
libuv.pc      libuv1-dev
libcjson.pc   libcjson-dev
http_parser.h libhttp-parser-dev
musl-gcc      musl-tools
'
PACKAGES_IMAGES='
debootstrap   debootstrap
'
PACKAGES_ENGINE='
dockerd       docker.io
ip            iproute2
'
PACKAGES_DEMO='
curl          curl
ps            procps
'
PACKAGES_TEST='
luarocks      luarocks
busted        lua-busted
lpeg.lua      lua-lpeg
argparse.lua  lua-argparse
luacheck      lua-check
luajit        luajit
busybox       busybox-static
clang         clang
libclang_rt   libclang-rt-dev
llvm-symbolizer llvm
clang-format  clang-format
ld.lld        lld
qemu-aarch64  qemu-user
'

package_is_there() {
  case $1 in
  *.h) [[ -e /usr/include/$1 || -e /usr/local/include/$1 ]] ;;
  *.pc) has pkg-config && pkg-config --exists "${1%.pc}" ;;
  *.lua) has lua5.4 && lua5.4 -e "require('${1%.lua}')" 2>/dev/null ;;
  libclang_rt) clang_has_runtime ;;
  *) has "$1" ;;
  esac
}

clang_has_runtime() {
  has clang &&
    [[ -e $(clang -print-file-name=libclang_rt.fuzzer-"$(uname -m)".a) ]]
}

# clang's run time is packaged per version of clang.
package_name() {
  local major
  if [[ $1 == libclang-rt-dev ]]; then
    major=$(apt-cache depends clang | sed -n 's/^  Depends: clang-\([0-9]*\)$/\1/p')
    echo "libclang-rt-$major-dev"
  else
    echo "$1"
  fi
}

# The engine and its client: one package on Debian 12, two on later ones.
packages_install_engine() {
  packages_install "$PACKAGES_ENGINE"
  packages_install 'docker docker-cli'
}

# packages_missing LIST: the packages of the list that are not there.
packages_missing() {
  local probe package
  while read -r probe package; do
    [[ -z $probe ]] || package_is_there "$probe" || echo "$package"
  done <<<"$1"
}

# packages_install LIST
packages_install() {
  local missing names=() package
  missing=$(packages_missing "$1")
  [[ -n $missing ]] || return 0
  has apt-get || die "missing, and there is no apt-get: $missing"
  packages_update
  for package in $missing; do
    names+=("$(package_name "$package")")
  done
  say "installing ${names[*]}"
  without_services as_root env DEBIAN_FRONTEND=noninteractive \
    apt-get install -y -q --no-install-recommends "${names[@]}" >&2
}

# musl for the architecture that this machine is not, so that the supervisor is
# built for it, too: unpacked into the cache, not installed. Without a network
# that one is left out.
SBX_MUSL=$SBX_CACHE/musl
packages_foreign_musl() {
  local arch=arm64 tmp status=0
  [[ $(dpkg --print-architecture 2>/dev/null) != arm64 ]] || arch=amd64
  [[ ! -e $SBX_MUSL ]] && has apt-get || return 0
  say "fetching musl for $arch"
  tmp=$(mktemp -d)
  foreign_musl "$arch" "$tmp" >&2 || status=$?
  rm -rf "$tmp"
  ((status == 0)) || say "there is none: the supervisor is not built for $arch"
}

# With lists and a status of its own, apt leaves the machine as it is.
foreign_musl() {
  local apt=(apt-get -q -o "APT::Architecture=$1" -o "APT::Architectures=$1"
    -o "Dir::State=$2" -o Dir::State::status=/dev/null -o "Dir::Cache=$2"
    -o APT::Sandbox::User=)
  mkdir -p "$2/lists/partial" "$2/archives/partial"
  (cd "$2" && "${apt[@]}" update && "${apt[@]}" download musl-dev) || return
  mkdir -p "$SBX_CACHE"
  dpkg -x "$2"/musl-dev_*.deb "$2/root" && mv "$2/root" "$SBX_MUSL"
}

PACKAGES_UPDATED=
packages_update() {
  [[ -z $PACKAGES_UPDATED ]] || return 0
  say "apt-get update"
  as_root apt-get update -q >&2 || say "some package lists are out of date"
  PACKAGES_UPDATED=1
}

# Installing an engine must not start it: this run starts its own.
without_services() {
  local policy=/usr/sbin/policy-rc.d status=0
  if [[ -e $policy ]]; then
    "$@"
    return
  fi
  printf '#!/bin/sh\nexit 101\n' | as_root tee "$policy" >/dev/null
  as_root chmod 755 "$policy"
  "$@" || status=$?
  as_root rm -f "$policy"
  return "$status"
}
