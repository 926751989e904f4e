#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# The library and the examples stay inside the Lua that LuaJIT parses.
set -euo pipefail
source "$(dirname "$0")/lib.sh"
cd "$SBX_ROOT"

sources lua | grep -E '^(lua|examples)/' | xargs -r luajit -e '
  local failed = false
  for i = 1, #arg do
    local chunk, message = loadfile(arg[i])
    if not chunk then
      io.stderr:write(message, "\n")
      failed = true
    end
  end
  os.exit(failed and 1 or 0)' dummy
