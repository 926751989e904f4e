-- SPDX-License-Identifier: MIT
-- chosen.lua - which engine and which runner this run is about, for specs and for the
-- programs that they start.

local M = {
  engine = os.getenv("SBX_ENGINE"),
  runner = os.getenv("SBX_RUNNER"),
}

--- Options for sandbox.docker() and its like, with `extra` on top. A client of the spec's
--- own is for the engine that has one.
function M.options(extra)
  local own_client = extra and extra.docker_path and "cli"
  local options = { pull = "never", engine = own_client or M.engine, runner = M.runner }
  for key, value in pairs(extra or {}) do
    options[key] = value
  end
  return options
end

return M
