-- SPDX-License-Identifier: MIT
-- cancel.lua - tokens that end calls early.

local M = {}

---@class anvia.sandbox.CancelToken
---@field cancelled boolean
---@field reason any what cancel() was given
local Token = {}
Token.__index = Token
Token.__name = "anvia.sandbox.CancelToken"

--- A token that nobody has cancelled yet.
---@return anvia.sandbox.CancelToken
function M.token()
  return setmetatable({ cancelled = false, reason = nil, _callbacks = {} }, Token)
end

function M.is_token(value)
  return type(value) == "table" and getmetatable(value) == Token
end

--- Cancels, once: the first reason counts. All callbacks run before it returns; if one of
--- them raises, the first such error is raised again when all have run.
---@param reason any
---@return boolean first false if it was cancelled before
function Token:cancel(reason)
  if self.cancelled then
    return false
  end
  self.cancelled = true
  self.reason = reason
  local callbacks = self._callbacks
  self._callbacks = {}
  local failed, failure = false, nil
  for i = 1, #callbacks do
    local ok, raised = true, nil
    if callbacks[i].fn then
      ok, raised = pcall(callbacks[i].fn, reason)
    end
    if not ok and not failed then
      failed, failure = true, raised
    end
  end
  if failed then
    error(failure, 0)
  end
  return true
end

--- Calls `fn(reason)` when the token is cancelled; at once if it is already.
---@param fn fun(reason: any)
---@return fun() unsubscribe
function Token:on_cancel(fn)
  if type(fn) ~= "function" then
    error("on_cancel needs a function", 2)
  end
  if self.cancelled then
    fn(self.reason)
    return function() end
  end
  local entry = { fn = fn }
  local callbacks = self._callbacks
  callbacks[#callbacks + 1] = entry
  return function()
    entry.fn = nil
    for i = 1, #callbacks do
      if callbacks[i] == entry and callbacks == self._callbacks then
        table.remove(callbacks, i)
        return
      end
    end
  end
end

return M
