# SPDX-License-Identifier: MIT
# control.sh - the inside end of a session's control channel.
#
# Runs as PID 1 (`init`), where the standard input is also the session's lease,
# or as a second route for another user (`agent`). Needs a POSIX sh and nothing
# else: only builtins run here, so that it answers with the pid limit exhausted
# and in images without tools.
#
# Requests are lines `<nonce> <verb> <arguments>`; answers are lines
# `<nonce> <payload>`, the last one `<nonce> .`. The nonce is fresh for every
# request and appears in no argument list and no environment. An answer begins
# with an empty line: the workload can write to this stream too, and its last
# line may have no end.

set -f
NL='
'

# Reads /proc/$1/stat into state, ppid, pgrp and sid. A name may hold anything,
# newlines and parentheses too, so only what follows the last `)` counts.
stat_of() {
  text=
  while read -r line || [ -n "$line" ]; do
    text=$text$line$NL
  done 2>/dev/null <"/proc/$1/stat"
  case $text in *')'*) ;; *) return 1 ;; esac
  name=${text#*'('}
  name=${name%')'*}
  rest=${text##*')'}
  set -- $rest
  state=$1 ppid=$2 pgrp=$3 sid=$4
  [ -n "$sid" ]
}

# True when /proc/$1/environ holds the mark. The read builtin drops the zero
# bytes between variables, which does not matter for a substring.
has_mark() {
  while read -r line || [ -n "$line" ]; do
    case $line in *"$2"*) return 0 ;; esac
  done 2>/dev/null <"/proc/$1/environ"
  return 1
}

# Collects in `found` (" 12 15 ") every live process of a command: members of
# its group or session, carriers of its mark, and the descendants of those.
find_tree() { # mark group wrapper
  found=' '
  others=
  set +f
  for dir in /proc/[0-9]*; do
    pid=${dir#/proc/}
    case $pid in 1 | "$me") continue ;; esac
    stat_of "$pid" || continue
    case $state in Z | X | x) continue ;; esac
    if [ "$pgrp" = "$2" ] || [ "$sid" = "$2" ] || has_mark "$pid" "$1"; then
      found="$found$pid "
    else
      others="$others$pid:$ppid "
    fi
  done
  set -f
  again=yes
  while [ -n "$again" ]; do
    again=
    for pair in $others; do
      case $found in *" ${pair%:*} "*) continue ;; esac
      case $found in
        *" ${pair#*:} "*) found="$found${pair%:*} " again=yes ;;
      esac
    done
  done
}

# `find`: one line `p <pid> <name>` for each process, the wrapper left out.
answer_find() { # mark group wrapper
  find_tree "$@"
  for pid in $found; do
    [ "$pid" = "$3" ] && continue
    name=
    stat_of "$pid" || continue
    printf '%s p %s %s\n' "$nonce" "$pid" "${name%%"$NL"*}"
  done
}

# `kill`: the signal goes to the group first, which cannot lose a race against
# a fork, then to every other process of the tree.
answer_kill() { # signal mark group wrapper
  signal=$1
  shift
  find_tree "$@"
  case $found in
    ' ') ;;
    *) kill "-$signal" "-$2" 2>/dev/null ;;
  esac
  for pid in $found; do
    [ "$pid" = "$3" ] && continue
    stat_of "$pid" && [ "$pgrp" != "$2" ] || continue
    kill "-$signal" "$pid" 2>/dev/null
  done
}

# `ports`: the listening rows of the kernel's socket tables, as they are.
answer_ports() {
  for table in tcp tcp6; do
    while read -r line; do
      set -- $line
      case $4 in 0A | st) printf '%s %s %s\n' "$nonce" "$table" "$line" ;; esac
    done 2>/dev/null <"/proc/net/$table"
  done
}

# `hello`: who runs here and whether it can write its workspace.
answer_hello() { # workdir
  uid=? gid=?
  while read -r key value rest; do
    case $key in Uid:*) uid=$value ;; Gid:*) gid=$value ;; esac
  done <"/proc/$me/status"
  writable=no
  [ -d "$1" ] && [ -w "$1" ] && [ -x "$1" ] && writable=yes
  printf '%s hello %s %s %s\n' "$nonce" "$uid" "$gid" "$writable"
}

serve() {
  read -r me rest </proc/self/stat
  while read -r nonce verb args; do
    set -- $args
    echo
    case $verb in
      hello) answer_hello "$args" ;;
      find) answer_find "$@" ;;
      kill) answer_kill "$@" ;;
      ports) answer_ports ;;
    esac
    printf '%s .\n' "$nonce"
  done
}

if [ "$1" = init ]; then
  # PID 1 waits, which reaps every orphan; nothing inside can signal it. Its
  # child reads the lease and is replaced when somebody kills it; the end of the
  # lease is the end of the container.
  exec 3<&0 </dev/null
  while :; do
    serve <&3 2>/dev/null &
    wait "$!"
    [ "$?" -gt 128 ] || exit 0
  done
else
  serve
fi
