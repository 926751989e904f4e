#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# The supervisor is a small static program, short enough to be read, and it is
# what the library holds. With musl-gcc there must be one.
set -euo pipefail
source "$(dirname "$0")/lib.sh"
cd "$SBX_ROOT"

MAX_BYTES=$((100 * 1024))
MAX_LINES=1800

lines=$(cat core/supervisor/*.[ch] | wc -l)
((lines < MAX_LINES)) ||
  die "core/supervisor has $lines lines, and may have fewer than $MAX_LINES"

shopt -s nullglob
programs=("$SBX_BUILD"/core/supervisor/supervisor-*[!c])
if [[ ${#programs[@]} == 0 ]]; then
  ! has musl-gcc || die 'musl-gcc is there, and the supervisor was not built'
  say 'no compiler for static programs: nothing to look at'
  exit 0
fi

for program in "${programs[@]}"; do
  arch=${program##*-}
  bytes=$(stat -c %s "$program")
  say "$arch: $bytes bytes; $lines lines"
  headers=$(LC_ALL=C readelf -lS "$program")
  ! grep -Eq 'INTERP|DYNAMIC' <<<"$headers" || die "$program is not static"
  ! grep -Eq '\.(symtab|debug)' <<<"$headers" || die "$program is not stripped"
  ! has musl-gcc || ((bytes < MAX_BYTES)) ||
    die "$program has $bytes bytes, and may have fewer than $MAX_BYTES"
  [[ $(sha256sum <"$program") == "$(lua5.4 -e '
    local bytes, sha256 = require("anvia.sandbox.core").supervisor(arg[1])
    print((sha256 or "none") .. "  -")' - "$arch" </dev/null)" ]] ||
    die "the library does not hold $program"
done
