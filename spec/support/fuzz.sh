#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# fuzz.sh PROGRAM CORPUS FOUND: runs one fuzz target for SBX_FUZZ_SECONDS
# (60). New inputs go to FOUND; an input that fails is kept there and shown. It
# takes the time that the tests beside it leave.
set -euo pipefail

program=$1 corpus=$2 found=$3
seconds=${SBX_FUZZ_SECONDS:-60}

mkdir -p "$found"
exec nice -n 10 "$program" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 \
  -max_len=65536 -print_final_stats=1 -verbosity=1 \
  -artifact_prefix="$found/failed-" "$found" "$corpus"
