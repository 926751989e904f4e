-- SPDX-License-Identifier: MIT
-- loop.lua - for programs that have an event loop of their own: watch fd(), and call
-- dispatch() whenever it is readable. Tasks then run from inside dispatch().

local core = require("anvia.sandbox.core")
local task = require("anvia.sandbox.task")

local M = {}

--- A descriptor that is readable while there is something to dispatch. It stays the same
--- until the process forks. Nobody but dispatch() may read from it.
---@return integer? fd
---@return table? err
function M.fd()
  return core.fd()
end

--- Handles what there is and returns; never blocks, unless a task does.
---@return integer count of operations that had news
function M.dispatch()
  return task.dispatch()
end

return M
