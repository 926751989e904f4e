-- SPDX-License-Identifier: MIT
-- hooks.lua - calls the functions of the option `hooks`.
--
-- An early hook can still stop what is going to happen: its error fails the call.
-- A late one can change nothing any more: its error goes to on_error, and an error
-- of on_error itself goes nowhere.

local errors = require("anvia.sandbox.errors")
local options = require("anvia.sandbox.options")

local M = {}

M.CHECK = options.record({
  on_session_create = options.callback,
  on_exec_start = options.callback,
  on_exec_end = options.callback,
  on_file_write = options.callback,
  on_destroy = options.callback,
  on_error = options.callback,
  on_warning = options.callback,
})

local Hooks = {}
Hooks.__index = Hooks

--- `functions` as M.CHECK passes them; every event carries the fields of `common`.
function M.new(functions, common)
  return setmetatable({ _functions = functions, _common = common }, Hooks)
end

function Hooks:has(name)
  return self._functions[name] ~= nil
end

-- A new table for each call, so that a hook can keep or change it.
function Hooks:_event(fields)
  local event = {}
  for key, value in pairs(self._common) do
    event[key] = value
  end
  for key, value in pairs(fields) do
    if type(value) == "table" and key ~= "error" then
      local copy = {}
      for k, v in pairs(value) do
        copy[k] = v
      end
      value = copy
    end
    event[key] = value
  end
  return event
end

--- Calls an early hook: true, or nil and an error for the caller. An error object
--- of this library, raised by the hook, is passed on as it is.
function Hooks:ask(op, name, fields)
  local hook = self._functions[name]
  if not hook then
    return true
  end
  local ok, raised = pcall(hook, self:_event(fields))
  if ok then
    return true
  elseif errors.is(raised) then
    return nil, raised
  end
  local err = errors.new(op, "internal", "hook %s: %s", name, tostring(raised))
  err.cause = raised
  return nil, err
end

--- Calls a late hook.
function Hooks:tell(name, fields)
  local hook = self._functions[name]
  if not hook then
    return
  end
  local ok, raised = pcall(hook, self:_event(fields))
  if not ok and self._functions.on_error then
    local event = self:_event(fields)
    event.hook, event.error = name, raised
    pcall(self._functions.on_error, event)
  end
end

return M
