# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# The images of the tests. A root file system is made once by a recipe_*
# function and kept as a tarball in $SBX_CACHE, named after a hash of the
# recipe; the engine gets what it lacks by `docker import`. Needs lib.sh and
# packages.sh.
#
#   busybox          all applets, users root and user (1000)
#   user             the same, USER 1000
#   entrypoint-echo  ENTRYPOINT ["/bin/echo","x"]
#   entrypoint-sh    ENTRYPOINT ["/bin/sh"]
#   entrypoint-exec  ENTRYPOINT ["/bin/wrapper"], a script that execs "$@"
#   cmd              CMD ["/bin/echo","cmd"], no ENTRYPOINT
#   static           /server, a static program, and nothing else
#   setuid           busybox and /bin/rootsleep, which is setuid root
#   hostile          busybox and /bin/hostile, which is hard to kill
#   debian           Debian 12: python3, nodejs, bash, curl, procps, user (1000)
#   nosetsid, nofind the same without setsid and without find (busybox's shell
#                    knows both by itself, dash does not)

IMAGES_ALL=(busybox user entrypoint-echo entrypoint-sh entrypoint-exec cmd
  static setuid hostile debian nosetsid nofind)
IMAGE_LABEL=anvia-test.recipe
IMAGES_WORK=

# images_ensure NAME...: afterwards the engine has anvia-test/NAME:1 of each.
images_ensure() {
  local name
  mkdir -p "$SBX_CACHE"
  for name in "$@"; do
    image_ensure "$name"
  done
}

image_ensure() {
  local tree tarball want
  tree=$(image_tree "$1")
  want=$(image_hash "$1")
  [[ $(image_recipe "$1") != "$want" ]] || return 0
  tarball=$(tree_tarball "$tree")
  [[ -s $tarball ]] || tree_build "$tree" "$tarball"
  say "image anvia-test/$1:1"
  image_changes "$1" | image_import "$1" "$want" "$tarball"
}

# The recipe's hash that an image in the engine was made from.
image_recipe() {
  docker image inspect --format "{{index .Config.Labels \"$IMAGE_LABEL\"}}" \
    "anvia-test/$1:1" 2>/dev/null || true
}

# image_import NAME HASH TARBALL, and on stdin one Dockerfile line a line.
image_import() {
  local changes=(--change "LABEL $IMAGE_LABEL=$2") change
  while read -r change; do
    changes+=(--change "$change")
  done
  docker import "${changes[@]}" "$3" "anvia-test/$1:1" >/dev/null
}

image_tree() {
  case $1 in
  user | entrypoint-* | cmd) echo busybox ;;
  nosetsid | nofind) echo bare ;;
  *) echo "$1" ;;
  esac
}

image_changes() {
  case $1 in
  user) echo 'USER 1000' ;;
  entrypoint-echo) echo 'ENTRYPOINT ["/bin/echo","x"]' ;;
  entrypoint-sh) echo 'ENTRYPOINT ["/bin/sh"]' ;;
  entrypoint-exec) echo 'ENTRYPOINT ["/bin/wrapper"]' ;;
  cmd) echo 'CMD ["/bin/echo","cmd"]' ;;
  static) echo 'ENTRYPOINT ["/server"]' ;;
  debian | nosetsid | nofind) echo 'CMD ["/bin/bash"]' ;;
  *) echo 'CMD ["/bin/sh"]' ;;
  esac
}

image_hash() {
  { tree_hash "$(image_tree "$1")" && image_changes "$1"; } | hash
}

hash() { sha256sum | cut -c1-16; }

# A tree's recipe is the text of its function, of those it calls, and the
# programs it is made of.
tree_hash() {
  {
    declare -f "recipe_${1//-/_}"
    case $1 in
    debian) declare -f debian_slim ;;
    bare) tree_hash debian ;;
    static) cat "$SBX_ROOT/spec/support/image/server.c" ;;
    setuid) tree_hash busybox && cat "$SBX_ROOT/spec/support/image/rootsleep.c" ;;
    hostile) tree_hash busybox && cat "$SBX_ROOT/spec/support/image/hostile.c" ;;
    esac
  } | hash
}

tree_tarball() { echo "$SBX_CACHE/$1-$(uname -m)-$(tree_hash "$1").tar"; }

# tree_build TREE TARBALL: the tarball appears complete or not at all.
tree_build() {
  say "building the root file system '$1'"
  umask 022
  IMAGES_WORK=$(mktemp -d /var/tmp/sbx-image.XXXX)
  "recipe_${1//-/_}" "$IMAGES_WORK/root" "$2.new"
  mv "$2.new" "$2"
  images_clean
}

# Also what an interrupted build leaves.
images_clean() {
  [[ -n $IMAGES_WORK ]] || return 0
  local where
  awk -v dir="$IMAGES_WORK/" 'index($2, dir) == 1 { print $2 }' /proc/mounts |
    sort -r | while read -r where; do
    as_root umount -l "$where"
  done
  as_root rm -rf --one-file-system "$IMAGES_WORK"
  IMAGES_WORK=
}

# recipe_*(root, tarball)

recipe_busybox() {
  local root=$1 applet
  mkdir -p "$root"/{bin,sbin,usr/bin,usr/sbin,etc,dev,proc,sys,run,root} \
    "$root"/{tmp,var/tmp,home/user}
  chmod 1777 "$root/tmp" "$root/var/tmp"
  chmod 700 "$root/root"
  cp "$(static_busybox)" "$root/bin/busybox"
  "$root/bin/busybox" --list-full | while read -r applet; do
    [[ -e $root/$applet ]] || ln -s /bin/busybox "$root/$applet"
  done
  printf '%s\n' root:x:0:0:root:/root:/bin/sh \
    user:x:1000:1000:user:/home/user:/bin/sh >"$root/etc/passwd"
  printf '%s\n' root:x:0: user:x:1000: >"$root/etc/group"
  printf '#!/bin/sh\nexec "$@"\n' >"$root/bin/wrapper"
  chmod 755 "$root/bin/wrapper"
  pack_tree "$root" "$2"
}

recipe_setuid() {
  unpack_tree busybox "$1"
  compile_static rootsleep "$1/bin/rootsleep"
  chmod 4755 "$1/bin/rootsleep"
  pack_tree "$1" "$2"
}

recipe_hostile() {
  unpack_tree busybox "$1"
  compile_static hostile "$1/bin/hostile"
  pack_tree "$1" "$2"
}

recipe_static() {
  mkdir -p "$1/tmp"
  chmod 1777 "$1/tmp"
  compile_static server "$1/server"
  pack_tree "$1" "$2"
}

recipe_debian() {
  local packages=python3,nodejs,bash,curl,procps
  packages_install "$PACKAGES_IMAGES"
  as_root env -u TMPDIR http_proxy="$(apt_proxy)" debootstrap \
    --variant=minbase --include="$packages" bookworm "$1" \
    "$(apt_mirror)" >&2 || die "debootstrap failed, see above"
  as_root chroot "$1" useradd --create-home --uid 1000 --shell /bin/bash user
  debian_slim "$1"
  as_root tar -C "$1" --numeric-owner -cf "$2" .
  as_root chown "$(id -u):$(id -g)" "$2"
}

recipe_bare() {
  tree_ready debian
  cp "$(tree_tarball debian)" "$2"
  tar --delete -f "$2" ./usr/bin/setsid ./usr/bin/find
}

# What nothing in a test reads, and what belongs to this host.
debian_slim() {
  as_root rm -rf "$1"/var/cache/apt/* "$1"/var/lib/apt/lists/* \
    "$1"/var/cache/debconf/* "$1"/var/log/*.log "$1"/var/log/apt \
    "$1"/usr/share/{doc,man,info,locale}/* \
    "$1"/etc/resolv.conf "$1"/etc/hostname "$1"/debootstrap
}

# The proxy and the mirror that apt uses here; empty: the default.
apt_proxy() {
  local proxy
  proxy=$(apt-config dump --format '%v%n' Acquire::http::Proxy 2>/dev/null || true)
  echo "${proxy:-${http_proxy:-}}"
}
apt_mirror() {
  apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' \
    'Codename: bookworm' 'Component: main' 2>/dev/null | head -n 1 || true
}

tree_ready() {
  local tarball work=$IMAGES_WORK
  tarball=$(tree_tarball "$1")
  [[ -s $tarball ]] || tree_build "$1" "$tarball"
  IMAGES_WORK=$work
}

# Everything belongs to root, but the user's home.
pack_tree() {
  tar -C "$1" --numeric-owner --owner=0 --group=0 --exclude=./home/user \
    -cf "$2" .
  [[ ! -d $1/home/user ]] ||
    tar -C "$1" --numeric-owner --owner=1000 --group=1000 \
      -rf "$2" ./home/user
}

unpack_tree() {
  tree_ready "$1"
  mkdir -p "$2"
  tar -C "$2" --no-same-owner -xpf "$(tree_tarball "$1")"
}

compile_static() {
  cc -static -O2 -s -pthread -o "$2" "$SBX_ROOT/spec/support/image/$1.c"
}

# The package conflicts with the other busybox, so it is unpacked, not
# installed, where it is not there.
static_busybox() {
  local dir=$IMAGES_WORK/busybox
  if [[ -x /bin/busybox ]] && ! ldd /bin/busybox >/dev/null 2>&1; then
    echo /bin/busybox
    return
  fi
  mkdir -p "$dir"
  packages_update
  (cd "$dir" && apt-get download -q busybox-static >&2)
  dpkg-deb -x "$dir"/busybox-static_*.deb "$dir/root"
  echo "$dir/root/bin/busybox"
}
