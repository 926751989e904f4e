#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# The C sources are as clang-format writes them.
set -euo pipefail
source "$(dirname "$0")/lib.sh"
cd "$SBX_ROOT"

sources c h | xargs -r clang-format --dry-run -Werror
