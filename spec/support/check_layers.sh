#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# base <- wire <- {http, proc}, io <- {http, proc} <- bind: nothing includes
# upwards or aside, and only bind knows Lua. The supervisor is a program of its
# own, base <- wire <- os <- supervisor, and nothing else includes these two.
set -euo pipefail
source "$(dirname "$0")/lib.sh"
cd "$SBX_ROOT"

# not_in LAYER PATTERN: prints the includes in LAYER that match.
not_in() {
  [[ ! -d core/$1 ]] ||
    grep -rnE --include='*.[ch]' "^ *# *include [<\"]($2)" "core/$1" || true
}

found=$(
  not_in base 'wire/|os/|supervisor/|io/|http/|proc/|bind/|uv\.h|lua|lauxlib|cjson'
  not_in wire 'os/|supervisor/|io/|http/|proc/|bind/|uv\.h|lua|lauxlib|cjson'
  not_in io 'os/|supervisor/|http/|proc/|bind/|lua|lauxlib|cjson'
  not_in http 'os/|supervisor/|proc/|bind/|lua|lauxlib'
  not_in proc 'os/|supervisor/|http/|bind/|lua|lauxlib|cjson'
  not_in bind 'os/|supervisor/'
  not_in os 'supervisor/|io/|http/|proc/|bind/|uv\.h|lua|lauxlib|cjson'
  not_in supervisor 'io/|http/|proc/|bind/|uv\.h|lua|lauxlib|cjson'
)
[[ -z $found ]] || die "includes that go the wrong way:"$'\n'"$found"
