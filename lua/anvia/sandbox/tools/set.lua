-- SPDX-License-Identifier: MIT
--- What a set of tools can do besides being an array: show itself to a provider, and answer calls.
local errors = require("anvia.sandbox.errors")
local render = require("anvia.sandbox.tools.render")
local tool = require("anvia.sandbox.tools.tool")

local methods = {}

local function find(set, name)
  local names = {}
  for i, made in ipairs(set) do
    if made.name == name then
      return made
    end
    names[i] = made.name
  end
  return nil, string.format("there is no tool '%s'; the tools are %s", tostring(name),
    table.concat(names, ", "))
end

--- Runs a provider's tool call and returns that provider's result. Never raises for what a model
--- sent: a refusal or a failure is a result that says so.
---
---@param call table     OpenAI: {id, type = "function", ["function"] = {name, arguments}} or
---  {type = "function_call", call_id, name, arguments}; Anthropic: {type = "tool_use", id, name,
---  input}; MCP: {name, arguments}
---@param options {cancel: table?}?
---@return table? result
---@return anvia.sandbox.Error? err   for a table that is no tool call
function methods:call(call, options)
  local form = type(call) == "table" and render.form_of(call)
  if not form then
    return nil, errors.new("tools", "protocol", "not a tool call of OpenAI, Anthropic or MCP")
  end
  local id, name, args = form.parse(call)
  local made, missing = find(self, name)
  if not made then
    return form.result(id, missing, true)
  end
  return form.result(id, tool.call_text(made, args, options))
end

for name, form in pairs(render.forms) do
  methods[name] = function(set)
    local list = {}
    for i, made in ipairs(set) do
      list[i] = form.list(made, tool.is_read_only(made))
    end
    return list
  end
end

local mt = { __name = "anvia.sandbox.ToolSet", __index = methods }

local set = {}

--- Gives an array of tools its methods: `openai`, `openai_responses`, `anthropic`, `mcp`, `call`.
function set.new(array)
  return setmetatable(array, mt)
end

return set
