#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# luacheck has nothing to say.
set -euo pipefail
source "$(dirname "$0")/lib.sh"
cd "$SBX_ROOT"

luacheck --no-color --no-cache .
