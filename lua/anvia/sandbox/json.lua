-- SPDX-License-Identifier: MIT
-- json.lua - JSON without losses: strings may hold NUL bytes, 64-bit integers stay exact,
-- and what cannot be said is refused instead of being changed.
--
-- An empty table is {}; json.array() marks one that is []. Arrays that were decoded carry
-- the mark. null is json.null. Two equal keys in one object are refused.

local core = require("anvia.sandbox.core")
local errors = require("anvia.sandbox.errors")

local M = {}

--- JSON's null, which is not nil.
M.null = core.null

--- The text for a value; keys are sorted.
---@param value any
---@return string? text
---@return anvia.sandbox.Error? err
function M.encode(value)
  local text, message = core.json_encode(value)
  if not text then
    return nil, errors.new("json.encode", "protocol", "%s", message)
  end
  return text
end

--- The value of a text.
---@param text string
---@return any value
---@return anvia.sandbox.Error? err
function M.decode(text)
  if type(text) ~= "string" then
    error("json.decode needs a string, not a " .. type(text), 2)
  end
  local value, message = core.json_decode(text)
  if message then
    return nil, errors.new("json.decode", "protocol", "%s", message)
  end
  return value
end

--- Marks a table (a new one, without an argument) as an array, and returns it.
---@param t table?
---@return table
function M.array(t)
  return core.json_array(t)
end

--- Was this table marked by array() or decoded from an array?
---@return boolean
function M.is_array(value)
  return core.json_is_array(value)
end

return M
