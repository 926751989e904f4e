#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# What must not be in the tree: notes to self, white space at a line's end,
# tabs, directories of one machine, and functions that have no safe use.
set -euo pipefail
source "$(dirname "$0")/lib.sh"
cd "$SBX_ROOT"

# In brackets, so that this file does not contain what it looks for.
NOTES='\<(T[O]DO|F[I]XME|X[X]X|H[A]CK)\>'
PLACES='(^|[^A-Za-z0-9_.$}-])/(h[o]me/[a-z]+/|w[o]rk/|t[m]p/sbx)'
UNSAFE='\<(strcpy|strcat|sprintf|vsprintf|gets|strtok|alloca|system|tmpnam|mktemp)\('
NOISE='\<(abort|exit|assert|printf|fprintf|puts|perror)\('

# refuse WHAT PATTERN FILE...
refuse() {
  local what=$1 pattern=$2 lines
  shift 2
  (($#)) || return 0
  lines=$(grep -nHE -- "$pattern" "$@" || true)
  [[ -z $lines ]] || printf '%s:\n%s\n' "$what" "$lines"
}

mapfile -t all < <(sources c h lua sh cmake txt md json rockspec)
mapfile -t c_core < <(sources c h | grep '^core/' || true)

found=$(
  refuse 'note to self' "$NOTES" "${all[@]}" run
  refuse 'a directory of one machine' "$PLACES" "${all[@]}" run
  refuse 'white space at the end of a line' '[[:space:]]+$' "${all[@]}" run
  refuse 'tab' $'\t' "${all[@]}" run
  refuse 'no safe use' "$UNSAFE" "${c_core[@]}"
  refuse 'a library neither prints nor ends the process' "$NOISE" "${c_core[@]}"
)
[[ -z $found ]] || die "$found"
