-- SPDX-License-Identifier: MIT
-- many.lua - the same work on many things, some of them at the same time.

local task = require("anvia.sandbox.task")

local M = {}

--- Calls work(list[i], i) for every i, at most `width` at a time, until one returns nil
--- and an error: that error is returned when those under way have ended.
---@param list any[]
---@param width integer
---@param work fun(item: any, i: integer): any, anvia.sandbox.Error?
---@return true? done
---@return anvia.sandbox.Error? err
function M.each(list, width, work)
  local next_one, failure = 1, nil
  local function worker()
    while next_one <= #list and not failure do
      local i = next_one
      next_one = i + 1
      local ok, err = work(list[i], i)
      if not ok then
        failure = failure or err
      end
    end
    return true
  end
  if #list <= 1 then
    worker()
  else
    local workers = {}
    for i = 1, math.min(width, #list) do
      workers[i] = worker
    end
    task.all(workers)
  end
  if failure then
    return nil, failure
  end
  return true
end

return M
