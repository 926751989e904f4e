-- SPDX-License-Identifier: MIT
-- read.lua - the scripts that read files, list directories and describe entries.

local common = require("anvia.sandbox.files.scripts.common")

local M = {}

--- read: path limit. The size goes to stderr first, then the bytes to stdout. The
--- last block may bring more than that when the file grows: the host cuts it off.
M.read = common .. [=[
locate "$1"
follow
regular
true <"./$leaf" || fail 45 denied
facts "./$leaf"
[ "$size" -le "$2" ] || fail 48 too_large "$size"
say size "$size"
[ "$size" -eq 0 ] ||
  dd "if=./$leaf" bs=65536 count="$(((size + 65535) / 65536))" ||
  fail 49 failed
]=]

--- page: path first-line first-byte lines bytes. `tail` skips at the speed of the
--- disk; `head` ends it as soon as the page is full.
M.page = common .. [=[
locate "$1"
follow
regular
true <"./$leaf" || fail 45 denied
command -v tail >/dev/null || fail 51 no_tool
from() { # line byte
  if [ "$1" -gt 1 ]; then
    tail -n "+$1" "./$leaf" | tail -c "+$2"
  else
    tail -c "+$2" "./$leaf"
  fi
}
from "$2" "$3" 2>/dev/null | head -n "$4" 2>/dev/null | head -c "$5" || fail 49 failed
]=]

-- An entry is described by "HEXMODE SIZE SECONDS TIME", or as `ls` says it,
-- "-rw-r--r-- SIZE", or by "-" when it has gone.
local DESCRIBE = [=[
describe() { # path
  stat -c '%f %s %Y %y' "$1" 2>/dev/null && return
  set -- $(ls -lnd "$1" 2>/dev/null)
  printf '%s\n' "${1:--}${5:+ $5}"
}
]=]

local LISTING = DESCRIBE .. [=[
batch() { # names
  printf '%s\0' "$@" ''
  if ! text=$(stat -c "$format" "$@" 2>/dev/null); then
    text=
    for name; do
      text=$text$(describe "$name")$nl
    done
  fi
  printf '%s\0' "$text"
  count=$((count + $#))
}

words=
n=0
while [ "$n" -lt 256 ]; do
  n=$((n + 1))
  words="$words \"\${$n}\""
done

# A pattern without a match stands for itself.
each() { # names
  set -f
  [ "$#" -gt 1 ] || [ -e "$1" ] || [ -L "$1" ] || return 0
  while [ "$#" -gt 256 ]; do
    eval "batch $words"
    shift 256
  done
  batch "$@"
}

everything() {
  set +f
  each ./.[!.]*
  set +f
  each ./..?*
  set +f
  each ./*
}

count=0
format=$1
shift
]=]

--- list: stat-format path. Batches: names that end in NUL, an empty one, and as many
--- lines of description, which end in one NUL.
M.list = common .. LISTING .. [=[
enter "$1"
everything
[ "$count" -gt 0 ] || ls . >/dev/null || fail 45 denied
]=]

--- list_many: stat-format paths. Before the batches of each directory one without names,
--- whose description is the directory's number. One that has gone is empty.
M.list_many = common .. LISTING .. [=[
index=0
for directory; do
  index=$((index + 1))
  printf '\0%s\0' "$index"
  (
    enter "$directory"
    everything
  ) 2>/dev/null
done
exit 0
]=]

local TARGET = [=[
target() { # link
  text=$(readlink "$1" && printf .) || text=
  printf '%s\0' "${text%"$nl".}"
}
]=]

--- targets: paths. What each link says, ended by NUL; nothing for one that has gone.
M.targets = common .. TARGET .. [=[
command -v readlink >/dev/null || fail 51 no_tool
for link; do
  (
    locate "$link"
    target "./$leaf"
  ) 2>/dev/null || printf '\0'
done
]=]

--- stat: path. A description, and of a link what it says.
M.stat = common .. DESCRIBE .. TARGET .. [=[
locate "$1"
[ -e "./$leaf" ] || [ -L "./$leaf" ] || fail 40 not_found
describe "./$leaf"
[ ! -L "./$leaf" ] || target "./$leaf" 2>/dev/null
]=]

return M
