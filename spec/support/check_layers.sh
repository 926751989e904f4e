#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# base <- wire <- proc and io <- proc <- bind: nothing includes upwards, and
# only bind knows Lua.
set -euo pipefail
source "$(dirname "$0")/lib.sh"
cd "$SBX_ROOT"

# not_in LAYER PATTERN: prints the includes in LAYER that match.
not_in() {
  [[ ! -d core/$1 ]] ||
    grep -rnE --include='*.[ch]' "^ *# *include [<\"]($2)" "core/$1" || true
}

found=$(
  not_in base 'wire/|io/|proc/|bind/|uv\.h|lua|lauxlib|cjson'
  not_in wire 'io/|proc/|bind/|uv\.h|lua|lauxlib|cjson'
  not_in io 'proc/|bind/|lua|lauxlib|cjson'
  not_in proc 'bind/|lua|lauxlib|cjson'
)
[[ -z $found ]] || die "includes that go the wrong way:"$'\n'"$found"
