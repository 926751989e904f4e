# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# The Docker engine of a run: the caller's when it answers, else one of our
# own, on its own bridge and without a rule in the host's firewall, which is
# gone without a trace when the run ends. Needs lib.sh and packages.sh.

ENGINE_DIR=    # of our own engine, empty when the caller's is used
ENGINE_BRIDGE= # its network interface
ENGINE_JOB=    # the command that runs it
STORAGE_DRIVER=
ENGINE_ENTER=() # the words that lead into its mount namespace

engine_answers() { has docker && timeout 20 docker version >/dev/null 2>&1; }

# Sets DOCKER_HOST when the engine is our own.
engine_start() {
  has docker || packages_install_engine
  if engine_answers; then
    say "engine: the one at ${DOCKER_HOST:-the default context}"
    return
  fi
  packages_install_engine
  cgroups_mount
  # Short, because the path of a Unix socket is; /tmp may be memory.
  ENGINE_DIR=$(mktemp -d /var/tmp/sbx.XXXX)
  chmod 755 "$ENGINE_DIR"
  echo '{}' >"$ENGINE_DIR/daemon.json"
  storage_choose
  bridge_add
  root_choose
  engine_launch
  export DOCKER_HOST=unix://$ENGINE_DIR/docker.sock
  unset DOCKER_CONTEXT DOCKER_TLS_VERIFY DOCKER_CERT_PATH
  poll 90 engine_settled || true
  engine_is_up || engine_failed
  say "engine: started at $DOCKER_HOST, storage $STORAGE_DRIVER"
}

# A session of its own: the terminal's signals are for us, not for the engine.
# Namespaces of its own in containerd, which may be the host's.
engine_launch() {
  as_root setsid "${ENGINE_ENTER[@]}" dockerd \
    --config-file "$ENGINE_DIR/daemon.json" \
    --data-root "$ENGINE_DIR/data" --exec-root "$ENGINE_DIR/exec" \
    --pidfile "$ENGINE_DIR/pid" --host "unix://$ENGINE_DIR/docker.sock" \
    --group "$(id -g)" --storage-driver "$STORAGE_DRIVER" \
    --exec-opt native.cgroupdriver=cgroupfs \
    --containerd-namespace "sbx-$$" \
    --containerd-plugins-namespace "sbx-$$-plugins" \
    --bridge "$ENGINE_BRIDGE" --iptables=false --ip-masq=false \
    --ip-forward=false </dev/null >"$ENGINE_DIR/log" 2>&1 &
  ENGINE_JOB=$!
}

engine_settled() { pid_gone "$ENGINE_JOB" || engine_is_up; }

engine_is_up() { [[ -S $ENGINE_DIR/docker.sock ]] && engine_answers; }

engine_failed() {
  tail -n 30 "$ENGINE_DIR/log" >&2
  die "the engine did not start"
}

# Safe to call twice, and when nothing was started.
engine_stop() {
  [[ -n $ENGINE_DIR ]] || return 0
  say "engine: stopping"
  local pid
  for pid in $(engine_pids); do
    as_root kill -TERM "$pid" 2>/dev/null || true
    poll 20 pid_gone "$pid" || as_root kill -KILL "$pid" 2>/dev/null || true
  done
  engine_unmount
  bridge_remove
  as_root rm -rf --one-file-system "$ENGINE_DIR"
  cgroups_unmount
  ENGINE_DIR=
}

# The engine first: it ends its containerd itself when it is well.
engine_pids() {
  local file
  for file in pid exec/containerd/containerd.pid; do
    as_root cat "$ENGINE_DIR/$file" 2>/dev/null && echo
  done || true
}

pid_gone() { [[ ! -d /proc/$1 ]]; }

engine_unmount() {
  local where
  # deepest first
  awk -v dir="$ENGINE_DIR/" 'index($2, dir) == 1 { print $2 }' /proc/mounts |
    sort -r | while read -r where; do
    as_root umount -l "$where" 2>/dev/null || true
  done
}

# In a chroot, the root of the mount namespace is another directory than ours,
# and it is the one in which `docker exec` would end up. There the engine gets
# a mount namespace with our root as its root.
root_choose() {
  local root
  root=$(as_root nsenter --mount=/proc/self/ns/mnt \
    readlink "/proc/$$/root" 2>/dev/null) || root=/
  ENGINE_ENTER=()
  [[ $root != / ]] || return 0
  ENGINE_ENTER=(nsenter --mount=/proc/self/ns/mnt unshare --mount sh -c '
    set -e
    mount --rbind "$1" "$1"
    cd "$1"
    pivot_root . mnt
    umount -l /mnt
    shift
    exec "$@"' sh "$root")
}

# overlay2 needs a file system below that can carry it; vfs works on any.
storage_choose() {
  STORAGE_DRIVER=vfs
  ! overlay_works || STORAGE_DRIVER=overlay2
}

overlay_works() {
  local dir=$ENGINE_DIR/probe works=1
  mkdir -p "$dir"/{lower,upper,work,merged}
  if as_root mount -t overlay overlay -o \
    "lowerdir=$dir/lower,upperdir=$dir/upper,workdir=$dir/work" \
    "$dir/merged" 2>/dev/null; then
    works=0
    as_root umount "$dir/merged"
  fi
  as_root rm -rf "$dir"
  return "$works"
}

# Always one of our own: an engine that is told to have no bridge deletes the
# interface docker0, whoever made it, and one with the default bridge shares it.
bridge_add() {
  local subnet routes
  routes=$'\n'$(ip -4 route show)
  ENGINE_BRIDGE=sbx${ENGINE_DIR##*.}
  for subnet in 10.213 10.214 172.30 172.29 192.168; do
    [[ $routes == *$'\n'"$subnet."* ]] || break
  done
  as_root ip link add name "$ENGINE_BRIDGE" type bridge
  # engines that start together differ in the third number
  as_root ip addr add "$subnet.$(($$ % 256)).1/24" dev "$ENGINE_BRIDGE"
  as_root ip link set "$ENGINE_BRIDGE" up
}

bridge_remove() {
  [[ $ENGINE_BRIDGE == sbx* ]] || return 0
  as_root ip link delete "$ENGINE_BRIDGE" 2>/dev/null || true
}

# Where nothing has mounted the control groups (a fresh chroot), we do, as
# long as the engine runs. Version 1 has one hierarchy for each controller.
CGROUPS_MOUNTED=
cgroups_mount() {
  ! grep -q ' /sys/fs/cgroup.* cgroup' /proc/mounts || return 0
  local controller
  mountpoint -q /sys || as_root mount -t sysfs sysfs /sys
  CGROUPS_MOUNTED=1
  if [[ -z $(cgroups_v1) ]]; then
    as_root mount -t cgroup2 cgroup2 /sys/fs/cgroup
    return
  fi
  as_root mount -t tmpfs -o mode=755 cgroup /sys/fs/cgroup
  for controller in $(cgroups_v1); do
    as_root mkdir "/sys/fs/cgroup/$controller"
    as_root mount -t cgroup -o "$controller" cgroup \
      "/sys/fs/cgroup/$controller" 2>/dev/null ||
      as_root rmdir "/sys/fs/cgroup/$controller"
  done
}

# The controllers that the host uses in a hierarchy of version 1.
cgroups_v1() { awk '!/^#/ && $2 != 0 { print $1 }' /proc/cgroups; }

cgroups_unmount() {
  [[ -n $CGROUPS_MOUNTED ]] || return 0
  as_root umount -R /sys/fs/cgroup 2>/dev/null || true
  CGROUPS_MOUNTED=
}
