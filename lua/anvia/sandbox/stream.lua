-- SPDX-License-Identifier: MIT
-- stream.lua - the output of a running command, handed out piece by piece.

local errors = require("anvia.sandbox.errors")
local task = require("anvia.sandbox.task")

local M = {}

--- Calls `callbacks.on_stdout` and `on_stderr` for every piece, until the operation
--- is done. When one raises, the command is cancelled and no callback is called any
--- more: then returns {value}, what was raised.
function M.deliver(operation, callbacks)
  local raised
  repeat
    local which, data = task.await_stream(operation)
    local callback = which and callbacks["on_" .. which]
    if callback and not raised then
      local ok, value = pcall(callback, data)
      if not ok then
        raised = { value = value }
        operation:cancel()
      end
    end
  until not which
  return raised
end

---@class anvia.sandbox.ExecStream
local Stream = {}
Stream.__index = Stream
Stream.__name = "anvia.sandbox.ExecStream"

--- A stream over `operation`, which ends early when `token` is cancelled. `on_end`
--- is called once, with what the operation came to: it returns the result, or nil
--- and the error for the caller.
function M.open(operation, token, on_end)
  local self = setmetatable({
    _operation = operation,
    _on_end = on_end,
    _unsubscribe = nil,
  }, Stream)
  if token then
    self._unsubscribe = token:on_cancel(function()
      operation:cancel()
    end)
  end
  return self
end

--- A stream of one event, for a command that never started.
function M.finished(result)
  return setmetatable({ _last = { type = "exit", result = result } }, Stream)
end

function Stream:_end()
  local operation = self._operation
  self._operation = nil
  if self._unsubscribe then
    self._unsubscribe()
  end
  local result, err = self._on_end(task.await(operation))
  if result then
    return { type = "exit", result = result }
  end
  return { type = "error", error = err }
end

--- The next event, or nil after the last one.
function Stream:next()
  if not self._operation then
    local last = self._last
    self._last = nil
    return last
  end
  local which, data = task.await_stream(self._operation)
  if which then
    return { type = which, data = data }
  end
  return self:_end()
end

function Stream:__call()
  return self:next()
end

--- Ends the command if it has not ended; returns when it is dead.
function Stream:close()
  self._last = nil
  if self._operation then
    self._operation:cancel()
    self:_end()
  end
end

Stream.__close = Stream.close

-- The operation is collected too, which cancels it.
function Stream:__gc()
  if self._operation then
    self._operation = nil
    self._on_end(nil, errors.new("exec_stream", "cancelled", "nobody holds the stream any more"))
  end
end

return M
