# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# Building with the presets of CMakePresets.json. Needs lib.sh, packages.sh.

SBX_PRESET=${SBX_PRESET:-debug}

# build_preset PRESET [CMAKE ARGUMENT...]
build_preset() {
  local preset=$1 dir=build/$1
  shift
  say "building '$preset'"
  # a tree that was moved or copied together with its build directory
  grep -qsxF "CMAKE_HOME_DIRECTORY:INTERNAL=$SBX_ROOT" "$dir/CMakeCache.txt" ||
    rm -rf "$dir"
  [[ ! -e $SBX_MUSL ]] || set -- "$@" "-DSBX_MUSL_ROOT=$SBX_MUSL"
  run_job cmake --preset "$preset" "$@" --log-level=WARNING >/dev/null
  run_job cmake --build "$dir" -- --quiet
}

# use_build PRESET: lua5.4 finds this tree and that build.
use_build() {
  export SBX_BUILD=$SBX_ROOT/build/$1
  export LUA_PATH="$SBX_ROOT/lua/?.lua;$SBX_ROOT/lua/?/init.lua;$SBX_ROOT/?.lua;;"
  export LUA_CPATH="$SBX_BUILD/lua/?.so;;"
}
