-- SPDX-License-Identifier: MIT
-- common.lua - the beginning of every script that does file work in a container.
--
-- The scripts need a POSIX sh with its builtins and, of these tools, only what the
-- task needs: cat mv mkdir rm rmdir chmod stat ls readlink head tail dd. Nothing is
-- GNU's alone, and `stat` may be missing. The rules that all of them keep:
--
-- * A name is never printed in lines, and is only ever used as "./name", so it can
--   hold anything and is never taken for an option.
-- * The working directory is the directory that is worked on. It is entered by
--   `cd -P`, one name at a time, and $PWD (not $(pwd), which loses newlines at
--   the end) must then be the workspace or below it. So a link can lead
--   elsewhere in the workspace, but not out of it.
-- * A failure is an exit status and, as the last line on stderr,
--   "anvia-files WORD INDEX NUMBER" (see failures.lua). Messages of tools may come
--   before it; they are for people and are never parsed.
--
-- The first argument of each script is the workspace.

return [=[
LC_ALL=C
export LC_ALL
PATH=${PATH:+$PATH:}/usr/local/bin:/usr/bin:/bin
umask 022
set -f
nl='
'
index=1

say() { # word number
  printf '\nanvia-files %s %s %s\n' "$1" "$index" "${2:-0}" >&2
}

fail() { # status word number
  say "$2" "$3"
  exit "$1"
}

inside() {
  case ${PWD%/}/ in
    "$root"*) ;;
    *) fail 41 outside ;;
  esac
}

go_home() {
  cd -P "$root" 2>/dev/null || fail 46 no_workspace
}

# Makes the directory that `cd` did not find, or says why it could not go there.
step() { # path make
  if [ -d "$1" ]; then
    fail 45 denied
  elif [ -e "$1" ]; then
    fail 44 not_directory
  elif [ -L "$1" ] || [ -z "$2" ]; then
    fail 40 not_found
  fi
  mkdir "$1" || [ -d "$1" ] || fail 49 failed
  cd -P "$1" || fail 49 failed
}

# Goes down a relative path; makes what is missing when `make` is not empty.
enter() { # path make
  rest=$1
  while [ -n "$rest" ]; do
    part=${rest%%/*}
    case $rest in
      */*) rest=${rest#*/} ;;
      *) rest= ;;
    esac
    cd -P "./$part" 2>/dev/null || step "./$part" "$2"
    inside
  done
}

# Goes to the directory that holds a path and leaves the name there in $leaf.
locate() { # path make
  leaf=${1##*/}
  case $1 in
    */*) enter "${1%/*}" "$2" ;;
  esac
}

# Goes to the directory that a link names. When there is none, a second walk says
# why; nothing is said about what exists outside.
jump() { # directory
  cd -P "$1" 2>/dev/null && return
  case $1 in
    "$root"*)
      go_home
      enter "${1#"$root"}"
      ;;
    /*) fail 41 outside ;;
    *) enter "$1" ;;
  esac
  fail 40 not_found
}

# While $leaf is a link, goes to where it points. The dot keeps the newlines at
# the end of a target from being lost.
follow() {
  hops=0
  while [ -L "./$leaf" ]; do
    hops=$((hops + 1))
    [ "$hops" -le 40 ] || fail 47 link_loop
    target=$(readlink "./$leaf" && printf .) || fail 51 no_tool
    target=${target%"$nl".}
    leaf=${target##*/}
    case $target in
      /*) jump "${target%"$leaf"}" ;;
      */*) jump "./${target%"$leaf"}" ;;
    esac
    case $leaf in
      '' | . | ..)
        jump "./$leaf"
        leaf=.
        ;;
    esac
    inside
  done
}

# Complains unless $leaf is a regular file. With `new` it may also be missing.
regular() { # new
  if [ -f "./$leaf" ]; then
    return 0
  elif [ -d "./$leaf" ]; then
    fail 42 is_directory
  elif [ -e "./$leaf" ]; then
    fail 43 not_regular
  fi
  [ -n "$1" ] || fail 40 not_found
}

# The mode that `ls -l` shows, in octal digits, to $mode.
octal() { # -rwxr-xr-x
  text=${1#?}
  mode=
  for class in user group others; do
    digit=0
    case $text in r*) digit=4 ;; esac
    case $text in ?w*) digit=$((digit + 2)) ;; esac
    case $text in ??[xst]*) digit=$((digit + 1)) ;; esac
    mode=$mode$digit
    text=${text#???}
  done
}

# A file's size and permissions, to $size and $mode.
facts() { # path
  if text=$(stat -c '%s %a' "$1" 2>/dev/null); then
    size=${text% *}
    mode=${text#* }
    while [ "${#mode}" -gt 3 ]; do
      mode=${mode#?}
    done
  else
    set -- $(ls -lnd "$1")
    size=$5
    octal "$1"
  fi
  [ -n "$size" ] || fail 51 no_tool
}

cd -P "$1" 2>/dev/null || fail 46 no_workspace
root=${PWD%/}/
shift
]=]
