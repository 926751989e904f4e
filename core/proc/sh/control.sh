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

# Sets mark to the value of ANVIA_SANDBOX_MARK in /proc/$1/environ, or to `-`.
# The read builtin drops the zero bytes between variables, so what follows the
# mark's 32 digits is cut off.
mark_of() {
  mark=-
  while read -r line || [ -n "$line" ]; do
    case $line in
      *ANVIA_SANDBOX_MARK=????????????????????????????????*)
        mark=${line#*ANVIA_SANDBOX_MARK=}
        rest=${mark#????????????????????????????????}
        mark=${mark%"$rest"}
        return
        ;;
    esac
  done 2>/dev/null <"/proc/$1/environ"
}

# `table`: one row `p <pid> <ppid> <pgrp> <sid> <mark> <name>` for every live
# process but this one and PID 1. Who belongs to whom is the owner's business.
# The mark matters where parentage says nothing: most environments are not read,
# which takes long when they are large.
answer_table() {
  set +f
  for dir in /proc/[0-9]*; do
    pid=${dir#/proc/}
    case $pid in 1 | "$me") continue ;; esac
    stat_of "$pid" || continue
    case $state in Z | X | x) continue ;; esac
    mark=-
    case $ppid in
      0) ;;
      1) mark_of "$pid" ;;
      *) [ -d "/proc/$ppid" ] || mark_of "$pid" ;;
    esac
    printf '%s p %s %s %s %s %s %s\n' "$nonce" "$pid" "$ppid" "$pgrp" "$sid" \
      "$mark" "${name%%"$NL"*}"
  done
  set -f
}

# `kill`: each target is a pid or, with a minus, a process group.
answer_kill() { # signal targets
  signal=$1
  shift
  for target; do
    kill "-$signal" "$target" 2>/dev/null
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
      table) answer_table ;;
      kill) answer_kill "$@" ;;
      ports) answer_ports ;;
    esac
    printf '%s .\n' "$nonce"
  done
}

# PID 1: nothing inside can signal it, and it reaps every orphan. The end of the
# lease is the end of the container.
init() {
  trap '' HUP INT QUIT TERM
  # Bash reaps whatever it is doing, so it reads the lease itself.
  if [ -n "$BASH_VERSION" ]; then
    serve
    exit 0
  fi
  # Others reap while they wait: a child reads. Somebody inside may kill it, then
  # it is replaced; or stop it, then PID 1 is told as of a death, because of the
  # trap, and lets it go on. The trap can end a wait before it has the status of a
  # death, too; that is there for the next wait.
  exec 3<&0 </dev/null
  trap : CHLD
  while :; do
    serve <&3 &
    while :; do
      wait "$!" && exit 0
      kill -CONT "$!" && continue
      wait "$!" && exit 0
      break
    done
  done
}

case $1 in
  init) init 2>/dev/null ;;
  *) serve ;;
esac
