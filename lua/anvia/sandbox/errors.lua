-- SPDX-License-Identifier: MIT
-- errors.lua - the failures of the world, as values: `nil, err`.
--
-- The caller's own mistakes (a wrong type, an unknown option) are raised instead.

local M = {}

--- The closed list of `err.code`.
M.CODES = {
  "docker_unavailable", -- no engine, or no client for it
  "docker_command", -- the engine refused; `result` has what it said
  "session_destroyed",
  "path",
  "timeout",
  "file_size",
  "tool_policy",
  "port",
  "process",
  "not_found",
  "cancelled",
  "protocol", -- something did not speak the language that was agreed on
  "internal",
}

local KNOWN = {}
for _, code in ipairs(M.CODES) do
  KNOWN[code] = true
end

---@class anvia.sandbox.Error
---@field code string one of errors.CODES
---@field message string
---@field op string? the method that failed
---@field cause any what it came from
---@field result table? what a failed command had printed: stdout, stderr, exit_code
local Error = {}
Error.__index = Error
Error.__name = "anvia.sandbox.Error"

function Error:__tostring()
  local text = tostring(self.code) .. ": " .. tostring(self.message)
  return self.op and (tostring(self.op) .. ": " .. text) or text
end

local function make(op, code, message)
  if not KNOWN[code] then
    error("unknown error code " .. tostring(code), 3)
  end
  return setmetatable({ op = op, code = code, message = message }, Error)
end

--- A new error. The message is made as string.format does.
---@param op string? the method that fails
---@param code string one of errors.CODES
---@param fmt string
---@return anvia.sandbox.Error
function M.new(op, code, fmt, ...)
  return make(op, code, string.format(fmt, ...))
end

--- The error that `op` gives for `err`: what the core or an inner method gave. Code,
--- message and all other fields stay. An error that has no `op` yet is completed in
--- place; one that has becomes the `cause` of the new one.
---@param op string?
---@param err any
---@return anvia.sandbox.Error
function M.wrap(op, err)
  if err == nil then
    return make(op, "internal", "it failed, and nobody said why")
  elseif type(err) ~= "table" then
    return make(op, "internal", tostring(err))
  elseif getmetatable(err) == Error and (err.op == nil or err.op == op or op == nil) then
    err.op = err.op or op
    return err
  end
  local code = KNOWN[err.code] and err.code or "internal"
  local wrapped = make(op, code, tostring(err.message or err))
  for key, value in pairs(err) do
    if wrapped[key] == nil then
      wrapped[key] = value
    end
  end
  if getmetatable(err) == Error then
    wrapped.cause = err
  end
  return wrapped
end

--- Is this an error of this library (with this code)?
---@param err any
---@param code string?
---@return boolean
function M.is(err, code)
  if code ~= nil and not KNOWN[code] then
    error("unknown error code " .. tostring(code), 2)
  end
  return type(err) == "table" and getmetatable(err) == Error and (code == nil or err.code == code)
end

return M
