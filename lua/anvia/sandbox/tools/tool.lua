-- SPDX-License-Identifier: MIT
--- One tool: a plain table {name, description, input_schema, call} made from its definition.
---
--- A definition has `name`, `description(limits)`, `input_schema(limits)`, `run(session, input,
--- context)` -> result | nil, err, and where they apply `needs`, `read_only`, `bytes` (inputs that
--- may carry NUL) and `text(result, input)` for results that are no text.
local errors = require("anvia.sandbox.errors")
local schema = require("anvia.sandbox.tools.schema")

local tool = {}

-- A call whose JSON is longer than this is not decoded.
local MAX_JSON_BYTES = 128 * 1024 * 1024

-- tool -> {session, definition, run}: what is behind a tool and not for the model's side to see.
local BEHIND = setmetatable({}, { __mode = "k" })

local function decode(args)
  if args == nil or (type(args) == "string" and not args:find("%S")) then
    return {}
  elseif type(args) ~= "string" then
    return args
  elseif #args > MAX_JSON_BYTES then
    return nil, string.format("the arguments have %d bytes; at most %d are taken", #args,
      MAX_JSON_BYTES)
  end
  local value, message = require("anvia.sandbox.core").json_decode(args)
  if value == nil then
    return nil, "the arguments are not valid JSON (" .. tostring(message)
      .. "); send one JSON object"
  end
  return value
end

--- Checks the arguments of one call: a copy, or an error that tells the model what to send.
local function read_input(definition, input_schema, args)
  local value, message = decode(args)
  if value ~= nil then
    value, message = schema.check(input_schema, value, definition.bytes)
  end
  if value == nil then
    return nil, errors.new(definition.name, "tool_policy", "%s", message)
  end
  return value
end

--- Makes a tool.
---@param definition table
---@param session table     what `tool.session` returns
---@param guarded table     the session that the tool works on, behind its policy
---@param context {limits: anvia.sandbox.tools.Limits, has: table<string, true>}
function tool.new(definition, session, guarded, context)
  -- The schema that is checked is out of reach of who changes the one that is shown.
  local checked = definition.input_schema(context.limits)

  local function run(args, options)
    local input, err = read_input(definition, checked, args)
    if not input then
      return nil, err
    end
    local now = setmetatable({
      cancel = options and options.cancel,
      session = session,
    }, { __index = context })
    local result
    result, err = definition.run(guarded, input, now)
    return result, err, input
  end

  local made = {
    name = definition.name,
    description = definition.description(context.limits),
    input_schema = definition.input_schema(context.limits),
    call = function(args, options)
      local result, err = run(args, options)
      if result == nil then
        return nil, err
      end
      return result
    end,
  }
  BEHIND[made] = { session = session, definition = definition, run = run }
  return made
end

--- The session that a tool works on; nil for a table that is no tool.
function tool.session(made)
  local behind = BEHIND[made]
  return behind and behind.session
end

function tool.is_read_only(made)
  return BEHIND[made].definition.read_only == true
end

--- What a call returns as one text, and whether it failed. Does not raise.
function tool.call_text(made, args, options)
  local behind = BEHIND[made]
  local ran, result, err, input = pcall(behind.run, args, options)
  if not ran then
    return "internal error: " .. tostring(result), true
  elseif result == nil then
    return err.message or tostring(err), true
  elseif behind.definition.text then
    return behind.definition.text(result, input), false
  end
  return result, false
end

return tool
