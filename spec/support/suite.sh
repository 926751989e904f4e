# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# ./run test: one list of tests over all builds, run by one ctest, and one last
# look at the engines. Needs lib.sh, build.sh, engines.sh and a started engine.
#
#   release  gcc, everything       clang  a build without warnings, C tests
#   asan     every C test and spec with the address and undefined sanitizers
#   tsan     the C tests, the specs of the binding and those that ask for it
#   fuzz     each target for SBX_FUZZ_SECONDS

SUITE_PRESETS=(release clang asan tsan fuzz)
SUITE_DIR=$SBX_ROOT/build/suite

suite_build() {
  local preset tests
  for preset in "${SUITE_PRESETS[@]}"; do
    tests=all
    [[ $preset != clang ]] || tests=core
    build_preset "$preset" "-DSBX_TEST_PREFIX=$preset:" "-DSBX_TEST_SET=$tests" \
      -DSBX_MATRIX=OFF
  done
}

# One build, in which each spec that needs an engine is there four times.
suite_build_matrix() {
  SUITE_PRESETS=(release)
  build_preset release -DSBX_TEST_PREFIX=release: -DSBX_TEST_SET=all -DSBX_MATRIX=ON
}

# A list that only points to the lists of the builds.
suite_list() {
  local preset
  mkdir -p "$SUITE_DIR"
  for preset in "${SUITE_PRESETS[@]}"; do
    echo "subdirs(\"$SBX_ROOT/build/$preset\")"
  done >"$SUITE_DIR/CTestTestfile.cmake"
}

# As many at a time as there are processors: with more, what a test waits for comes
# late. Tests on an engine come first, the fuzzers after them.
suite_ctest() {
  engines_ctest "$SUITE_DIR/engines.json" --test-dir "$SUITE_DIR" \
    --parallel "$(nproc)" --no-tests=error --output-on-failure \
    --output-junit "$SUITE_DIR/results.xml" "$@" 2>&1 | tee "$SUITE_DIR/log"
}

# The line "N passed, N failed" that ends the output; empty: none is wanted.
SUITE_RESULT=

# suite_run ARGUMENT...: of ctest. Sets SUITE_RESULT; non-zero when something
# failed.
suite_run() {
  local failed total passed ok=0
  suite_list
  export SBX_MUST_WORK=1
  run_job suite_ctest "$@" || ok=1
  read -r failed total < <(suite_counts)
  ((ok == 0 || failed != 0)) || failed=1
  passed=$((total - failed))
  suite_leftovers || failed=$((failed + 1))
  ((failed == 0)) || ok=1
  SUITE_RESULT="$passed passed, $failed failed"
  return "$ok"
}

# Failed and total, as ctest counted them; when it did not come that far, one
# failure.
suite_counts() {
  local counts
  counts=$(sed -n 's/^[0-9]*% tests passed, \([0-9]*\) tests\{0,1\} failed out of \([0-9]*\)$/\1 \2/p' \
    "$SUITE_DIR/log" | tail -n 1)
  echo "${counts:-1 1}"
}

# The tests are over: nothing of ours may be on an engine or on this host.
suite_leftovers() {
  poll 5 suite_is_clean && return
  echo "left behind:"
  suite_left
  return 1
}

suite_is_clean() { [[ -z $(suite_left) ]]; }

suite_left() {
  engines_each suite_left_on_engine
  # our clients name the container or the label
  pgrep -u "$EUID" -a docker | grep -E 'anvia[.-]sandbox' | cut -c1-200 || true
}

suite_left_on_engine() {
  docker ps -a --filter label=anvia.sandbox=true \
    --format 'container {{.Names}}: {{.Status}}' || echo 'the engine is gone'
  # persistent workspaces outlive their session, but not the test
  docker volume ls --filter label=anvia.sandbox=true \
    --format 'volume {{.Name}}' || true
}
