# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# What the scripts here share. Sourced by bash, with `set -euo pipefail`.

SBX_ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
SBX_CACHE=${SBX_CACHE:-${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/anvia-sandbox-test}

# Debian keeps some of what is needed in sbin, which is not in everyone's PATH.
PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin

say() { printf '== %s\n' "$*" >&2; }
die() {
  printf 'error: %s\n' "$*" >&2
  exit 1
}
has() { command -v "$1" >/dev/null 2>&1; }

as_root() {
  if ((EUID == 0)); then
    "$@"
  else
    has sudo || die "root is needed for: $*"
    sudo "$@"
  fi
}

# poll SECONDS COMMAND...: until the command succeeds; 1 when it never does.
poll() {
  local end=$((SECONDS + $1))
  shift
  until "$@"; do
    ((SECONDS < end)) || return 1
    sleep 0.1
  done
}

# Runs a long command in a process group of its own, so that a signal that
# reaches this script is handled at once and ends the whole group.
SBX_JOB=
run_job() {
  local status=0
  set -m
  "$@" </dev/null &
  SBX_JOB=$!
  set +m
  wait "$SBX_JOB" || status=$?
  SBX_JOB=
  return "$status"
}
stop_job() {
  [[ -n $SBX_JOB ]] || return 0
  kill -TERM -- "-$SBX_JOB" 2>/dev/null || true
  poll 10 job_gone || kill -KILL -- "-$SBX_JOB" 2>/dev/null || true
  SBX_JOB=
}
job_gone() { ! kill -0 -- "-$SBX_JOB" 2>/dev/null; }

# sources EXTENSION...: the files of the tree that end so.
sources() {
  local extension args=()
  for extension in "$@"; do
    args+=(-o -name "*.$extension")
  done
  (cd "$SBX_ROOT" && find . \( -path ./.git -o -path './build*' -o \
    -path ./lua_modules -o -path ./spec/fuzz/corpus \) -prune -o \
    -type f \( "${args[@]:1}" \) -print | sed 's|^\./||' | sort)
}
