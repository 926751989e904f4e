#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# `luarocks make` from a clean copy of the tree, and what it installed is
# loaded from elsewhere.
set -euo pipefail
source "$(dirname "$0")/lib.sh"

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

copy_tree() {
  mkdir "$tmp/copy"
  if git -C "$SBX_ROOT" rev-parse --verify -q HEAD >/dev/null 2>&1; then
    (cd "$SBX_ROOT" && git ls-files -z | tar -c --null -T - 2>/dev/null) |
      tar -x -C "$tmp/copy"
  else
    tar -C "$SBX_ROOT" -c --exclude=./.git --exclude='./build*' . |
      tar -x -C "$tmp/copy"
  fi
}

copy_tree
cd "$tmp/copy"
luarocks --lua-version 5.4 --tree "$tmp/tree" \
  make rocks/anvia-sandbox-scm-1.rockspec

cd /
unset SBX_BUILD
export LUA_PATH="$tmp/tree/share/lua/5.4/?.lua;$tmp/tree/share/lua/5.4/?/init.lua;;"
export LUA_CPATH="$tmp/tree/lib/lua/5.4/?.so;;"
version=$(lua5.4 -e 'print(require("anvia.sandbox")._VERSION)')
echo "version $version"
[[ $version =~ ^[0-9]+\.[0-9]+\.[0-9]+ ]]

# LPeg is for tools and policies only, and who lacks it is told so.
said=$(lua5.4 -e '
  package.preload.lpeg = function() error("there is no lpeg") end
  local sandbox = require("anvia.sandbox")
  print(pcall(function() return sandbox.policy end))')
[[ $said == false*"need LPeg"* ]]
