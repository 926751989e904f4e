-- SPDX-License-Identifier: MIT
-- write.lua - the scripts that make, replace, rename and remove files.

local common = require("anvia.sandbox.files.scripts.common")

local M = {}

-- Writing is atomic: the bytes go to a new file in the same directory, which takes
-- the place of the old one when it is known to be complete.
local REPLACE = [=[
discard() { # status word number
  rm -f "./$temp"
  fail "$@"
}

# Finds the file to replace and the mode that the new one gets: the one that is
# wished for, else the old one's, else 644.
target() { # path mode
  locate "$1" make
  follow
  regular new
  mode=644
  [ ! -f "./$leaf" ] || facts "./$leaf"
  keep=${2:-$mode}
}

# In a subshell: the file that is made next must be new, and must not have more
# permissions than it will end up with.
careful() {
  set -C
  [ "$keep" = 644 ] || umask 077
}

# Copies the standard input to the new file.
spool() { # bytes
  (
    careful
    exec cat >"./$temp"
  ) || discard 49 failed
  facts "./$temp"
  [ "$size" = "$1" ] || discard 50 incomplete "$size"
}

# The two looks at $leaf are because `mv` moves into a directory.
place() {
  [ "$keep" = 644 ] || chmod "$keep" "./$temp" || discard 49 failed
  [ ! -d "./$leaf" ] || discard 42 is_directory
  mv -f "./$temp" "./$leaf" || discard 49 failed
  if [ -d "./$leaf" ]; then
    cd "./$leaf" && discard 42 is_directory
  fi
}

temp=$1
keep=
trap 'rm -f "./$temp"; exit 1' HUP INT TERM
]=]

--- write: temporary-name path bytes; the content is the standard input.
M.write = common .. REPLACE .. [=[
target "$2"
spool "$3"
place
]=]

--- write_many: temporary-name total-bytes {kind bytes path}...; the standard input
--- is the content of all files, one after the other. `kind` is `dir`, or a mode in
--- octal digits, or empty. The input is spooled to an unlinked file first, because
--- only there can `dd` be told how much to take: from a pipe it, like `head`,
--- may take less or more.
M.write_many = common .. REPLACE .. [=[
index=0
spool "$2"
exec 3<"./$temp"
rm -f "./$temp"
shift 2

# What dd says is only shown when it failed. From a file, unlike from a pipe, it
# copies everything or fails, so the size needs no second look.
take() { # bytes
  said=$(
    careful
    exec 2>&1 <&3 >"./$temp" || exit
    [ "$1" -lt 65536 ] || dd bs=65536 count="$(($1 / 65536))" || exit
    [ "$(($1 % 65536))" -eq 0 ] || dd bs="$(($1 % 65536))" count=1
  ) && return
  printf '%s\n' "$said" >&2
  discard 49 failed
}

while [ "$#" -gt 0 ]; do
  index=$((index + 1))
  go_home
  if [ "$1" = dir ]; then
    enter "$3" make
  else
    target "$3" "$1"
    take "$2"
    place
  fi
  shift 3
done
]=]

--- mkdir: path mode. Without a mode, one that exists keeps its own.
M.mkdir = common .. [=[
enter "$1" make
[ -z "$2" ] || chmod "$2" . || fail 49 failed
]=]

--- symlink: text path. A file or a link in the way is replaced.
M.symlink = common .. [=[
locate "$2" make
if [ -L "./$leaf" ] || [ ! -d "./$leaf" ]; then
  rm -f "./$leaf" || fail 49 failed
else
  fail 42 is_directory
fi
command -v ln >/dev/null || fail 51 no_tool
ln -s -- "$1" "./$leaf" || fail 49 failed
]=]

--- remove: path recursive.
M.remove = common .. [=[
locate "$1"
if [ -L "./$leaf" ] || [ ! -d "./$leaf" ]; then
  [ -e "./$leaf" ] || [ -L "./$leaf" ] || fail 40 not_found
  rm -f "./$leaf" || fail 49 failed
elif [ -n "$2" ]; then
  rm -rf "./$leaf" 2>&1 | head -n 3 >&2
  [ ! -d "./$leaf" ] || fail 49 failed
elif ! rmdir "./$leaf"; then
  [ -z "$(ls -A "./$leaf")" ] || fail 52 not_empty
  fail 49 failed
fi
]=]

--- rename: from to. A link to a directory is removed first: `mv` would move into
--- it.
M.rename = common .. [=[
locate "$1"
[ -e "./$leaf" ] || [ -L "./$leaf" ] || fail 40 not_found
from=${PWD%/}/$leaf
go_home
index=2
locate "$2"
[ "$from" != "${PWD%/}/$leaf" ] || exit 0
if [ -L "./$leaf" ]; then
  [ ! -d "./$leaf" ] || rm -f "./$leaf" || fail 49 failed
elif [ -d "./$leaf" ]; then
  fail 42 is_directory
elif [ -e "./$leaf" ] && [ -d "$from" ] && [ ! -L "$from" ]; then
  fail 44 not_directory
fi
mv -f "$from" "./$leaf" || fail 49 failed
]=]

return M
