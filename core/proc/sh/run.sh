# SPDX-License-Identifier: MIT
# run.sh - starts one command of a session and reports on it.
#
# It says that it is there (one 0x1e on stdout), and only then the owner sends
# the header. It says that the program is about to run, and only then the owner
# sends an empty line: until then a start can be given up by closing the input,
# and will never run later; from then on the owner knows what to kill. The
# header is the first line of the standard input, shell text that sets
#   anvia_uuid   the nonce of this command's markers
#   anvia_public its public mark, for its environment
#   anvia_dir    its working directory
#   anvia_input  not empty: the program gets the rest of the input
#   anvia_rs     the byte that encloses a marker
#   anvia_env    a function that exports the command's environment
# and the positional parameters; it may use $anvia_nl, a newline. For variables
# that shells keep for themselves it also sets
#   anvia_by     the name of env(1)
#   anvia_exec   a function that becomes the program by way of "$anvia_by"
# Else only builtins run here, so the image needs a POSIX sh and nothing else.
#
# A marker on stderr and one on stdout say that the program is about to run, or
# why it cannot; when it has ended, another one on each says so. The markers' nonce is
# in no argument list and no environment.

anvia_nl='
'
set -f

anvia_mark() { # text
  printf '%sANVIA_%s%s' "$anvia_rs" "$1" "$anvia_rs"
}

anvia_fail() { # code reason
  anvia_mark "FAILED:$anvia_uuid:$1:$2" >&2
  anvia_mark "FAILED:$anvia_uuid:$1:$2"
  exit "$1"
}

anvia_try() { # path
  if [ -d "$1" ]; then
    anvia_why=is_directory
  elif [ ! -e "$1" ]; then
    return 1
  elif [ -x "$1" ]; then
    anvia_program=$1
    return 0
  else
    anvia_why=not_executable
  fi
  return 1
}

# Looks for the program as execvp would, but tells "missing" from "not
# executable", and takes no builtin of this shell for a program.
anvia_find() { # name
  anvia_why=not_found
  case $1 in
    '') ;;
    */*) anvia_try "$1" && return ;;
    *)
      IFS=:
      for anvia_path in $PATH; do
        anvia_try "${anvia_path:-.}/$1" && return
      done
      ;;
  esac
  return 1
}

anvia_resolve() { # name
  anvia_find "$1" && return
  [ "$anvia_why" = not_found ] && anvia_fail 127 not_found
  anvia_fail 126 "$anvia_why"
}

anvia_exec() { # program arguments
  exec "$@"
}

# Becomes the program. Its environment is exported twice: first for its PATH,
# then again because the code between may have changed IFS.
anvia_become() { # program arguments
  anvia_env
  if [ -n "$anvia_by" ]; then
    anvia_find "$anvia_by" || anvia_fail 125 no_env
    anvia_by=$anvia_program
  fi
  anvia_resolve "$1"
  # A busybox shell can prefer its own applet to what PATH says: then the
  # program goes by its path; elsewhere it sees the name it was called by.
  if PATH=/dev/null command -v cat >/dev/null; then
    shift
    set -- "$anvia_program" "$@"
  fi
  IFS=' '
  read -r anvia_pid anvia_stat </proc/self/stat
  anvia_stat=${anvia_stat##*') '}
  anvia_stat=${anvia_stat#* }
  anvia_stat=${anvia_stat#* }
  anvia_stat=$$:${anvia_pid%% *}:${anvia_stat%% *}
  anvia_mark "PROCESS:$anvia_uuid:$anvia_stat" >&2
  anvia_mark "PROCESS:$anvia_uuid:$anvia_stat"
  read -r anvia_go <&4 || exit 125
  exec 4<&-
  anvia_env
  export ANVIA_SANDBOX_MARK="$anvia_public"
  anvia_exec "$@"
}

anvia_by=
printf '\036'
IFS= read -r anvia_header || exit 125
eval "$anvia_header" || exit 125
cd -- "$anvia_dir" 2>/dev/null || anvia_fail 125 cwd
exec 4<&0
[ -n "$anvia_input" ] || exec </dev/null

# The wrapper outlives signals that the program sends to its own group; the
# traps are reset in the subshell. The shell's remarks about how the program
# ended are nobody's output.
trap : HUP INT QUIT USR1 USR2 PIPE ALRM TERM
exec 3>&2 2>/dev/null
(
  exec 2>&3 3>&-
  anvia_become "$@"
)
anvia_status=$?
anvia_mark "EXIT:$anvia_uuid:$anvia_status" >&3
anvia_mark "EXIT:$anvia_uuid:$anvia_status"
exit "$anvia_status"
