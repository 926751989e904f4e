# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# The engines that tests run on, one test at a time on each. ctest hands them
# out by the number in its list of resources, and on_engine.sh makes a number
# the DOCKER_HOST of a test. Needs lib.sh and a started engine.
#
# A test on an engine waits more than it works, so two engines are nearly twice
# as fast as one, also on two processors.

export SBX_ENGINES= # hosts; empty: the caller's engine, whatever leads to it
ENGINES_JOB=        # runs the second one

# engines_start_second IMAGE...: another one beside our own. Beside the
# caller's there is none, and who cannot have two works with one.
engines_start_second() {
  local out
  [[ -n $ENGINE_DIR ]] || return 0
  SBX_ENGINES=$DOCKER_HOST
  out=$ENGINE_DIR/second
  : >"$out"
  coproc ENGINES_PIPE { exec bash spec/support/second_engine.sh "$out" "$@" >&2; }
  ENGINES_JOB=$!
  poll 300 engines_second_settled "$out" || true
  if [[ -s $out ]]; then
    SBX_ENGINES+=" $(cut -d ' ' -f 2 "$out")"
  else
    say "engine: there is no second one"
    engines_stop_second
  fi
}

engines_second_settled() { pid_gone "$ENGINES_JOB" || [[ -s $1 ]]; }

# Safe to call twice, and when nothing was started.
engines_stop_second() {
  [[ -n $ENGINES_JOB ]] || return 0
  kill -TERM "$ENGINES_JOB" 2>/dev/null || true
  poll 60 pid_gone "$ENGINES_JOB" || say "engine: the second one does not end"
  ENGINES_JOB=
}

# engines_each COMMAND...: on each of them.
engines_each() {
  local host
  if [[ -z $SBX_ENGINES ]]; then
    "$@"
    return
  fi
  for host in $SBX_ENGINES; do
    DOCKER_HOST=$host "$@"
  done
}

# engines_ctest FILE ARGUMENT...: ctest, with its list of resources in FILE.
engines_ctest() {
  local file=$1 host ids='' n=0
  shift
  for host in ${SBX_ENGINES:-one}; do
    ids+=${ids:+,}"{\"id\":\"$((n++))\"}"
  done
  echo "{\"version\":{\"major\":1,\"minor\":0},\"local\":[{\"engines\":[$ids]}]}" >"$file"
  ctest --resource-spec-file "$file" "$@"
}
