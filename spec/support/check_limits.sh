#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# No file over 600 lines, no function over 100.
set -euo pipefail
source "$(dirname "$0")/lib.sh"
cd "$SBX_ROOT"

MAX_FILE=600
MAX_FUNCTION=100

long_files() {
  # of .txt only what CMake reads: the others are tables of cases
  { sources c h lua sh cmake && sources txt | grep '/CMakeLists\.txt$'; } |
    xargs -r awk -v max="$MAX_FILE" '
    FNR == max + 1 { print FILENAME ": more than " max " lines" }'
}

# A function of C ends with a brace alone in the first column, and begins at
# the last line before its body that is not indented.
long_c_functions() {
  sources c h | xargs -r awk -v max="$MAX_FUNCTION" '
    FNR == 1 { open = 0 }
    !open && /^[A-Za-z_]/ { start = FNR; name = $0 }
    !open && /\{$/ { open = 1 }
    /^}/ {
      if (open && $0 == "}" && FNR - start + 1 > max)
        print FILENAME ":" start ": " FNR - start + 1 " lines: " name
      open = 0
    }'
}

# The compiler knows where a function of Lua begins and ends. The blocks that
# group the cases of a spec are no functions to a reader.
long_lua_functions() {
  local file first last
  sources lua | while read -r file; do
    luac5.4 -l -p "$file" |
      sed -n 's/^function <.*:\([0-9]*\),\([0-9]*\)>.*/\1 \2/p' |
      while read -r first last; do
        ((last - first + 1 > MAX_FUNCTION)) || continue
        sed -n "${first}p" "$file" | grep -Eq '^ *(helper\.)?(describe|insulate)\(' ||
          echo "$file:$first: $((last - first + 1)) lines"
      done
  done
}

found=$(long_files && long_c_functions && long_lua_functions)
[[ -z $found ]] || die "too long:"$'\n'"$found"
