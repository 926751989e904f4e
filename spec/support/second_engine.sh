#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# second_engine.sh OUT IMAGE... - another engine with these images, for tests
# that run beside others, or that stop, kill and restart it.
#
# It runs beside the first one, on a bridge of its own, as long as the standard
# input is open. Lines on the input: `restart` starts it anew, `end` ends it.
# OUT gets a line `ready <DOCKER_HOST> <pid>` each time it answers.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
for part in lib packages engine images; do
  source "spec/support/$part.sh"
done
out=$1
shift

# A killed engine's containerd goes with it, but its files would keep the next
# engine from starting one.
forget_containerd() {
  local dir=$ENGINE_DIR/exec/containerd
  kill -KILL "$(cat "$dir/containerd.pid")" 2>/dev/null || true
  rm -f "$ENGINE_DIR/pid" "$dir"/containerd{.pid,.sock,-debug.sock,.sock.ttrpc}
}

# What a killed engine leaves: the shims of its containers. They name our
# directory, which nobody else does.
end_orphans() {
  local pid
  for pid in $(pgrep -f -- "$ENGINE_DIR/exec/containerd"); do
    [[ $pid == "$$" ]] || kill -KILL "$pid" 2>/dev/null || true
  done
}

cleanup() {
  trap '' INT TERM HUP
  local dir=$ENGINE_DIR
  engine_stop >&2
  ENGINE_DIR=$dir
  end_orphans
}
trap cleanup EXIT

tell_ready() { echo "ready $DOCKER_HOST $(cat "$ENGINE_DIR/pid")" >>"$out"; }

export DOCKER_HOST=unix:///nonexistent # so that the caller's is not taken
engine_start >&2
images_ensure "$@" >&2
tell_ready
while read -r line; do
  [[ $line == restart ]] || break
  forget_containerd
  engine_launch
  poll 60 engine_is_up || engine_failed
  tell_ready
done
