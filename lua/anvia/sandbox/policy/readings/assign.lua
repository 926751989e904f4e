-- SPDX-License-Identifier: MIT
--- Assignments: NAME=value before a command, and as arguments of export and its like.

local state = require("anvia.sandbox.policy.shell.state")
local expand = require("anvia.sandbox.policy.shell.expand")
local ast = require("anvia.sandbox.policy.shell.ast")

--- A longer text is not followed through variables.
local MAX_VALUE = 8192

local assign_words = {}

--- The set of values of one assignment.
local function value_of(scope, assign)
  local ex = scope.ex
  if assign.array then
    local words = {}
    for _, word in ipairs(assign.array) do
      local ways = expand.fields(ex, word)
      if #ways ~= 1 or (word.literal and word.literal:find("^%[.*%]=")) then
        return state.DYNAMIC
      end
      for _, field in ipairs(ways[1]) do
        words[#words + 1] = field
      end
    end
    if not assign.append then
      return { { words = words } }
    end
    local old = state.single(scope.state:get(assign.name))
    if type(old) ~= "table" then
      return state.DYNAMIC
    end
    local all = {}
    for _, list in ipairs({ old.words, words }) do
      for _, word in ipairs(list) do
        all[#all + 1] = word
      end
    end
    return { { words = all } }
  end
  local set = expand.value(ex, assign.word)
  if assign.index then
    return state.DYNAMIC
  elseif assign.append then
    local old = state.single(scope.state:get(assign.name))
    local new = state.single(set)
    if type(old) ~= "string" or type(new) ~= "string" or #old + #new > MAX_VALUE then
      return state.DYNAMIC
    end
    return { old .. new }
  end
  return set
end

--- The assignments before a command: names and sets of values.
---@return {name: string, set: anvia.sandbox.shell.Values}[]
function assign_words.prefix(scope, node)
  local out = {}
  for i, assign in ipairs(node.assigns) do
    out[i] = { name = assign.name, set = value_of(scope, assign) }
  end
  return out
end

--- The name and the value (as a word) of an argument of export and its like.
local function declared(word)
  local text = ast.constant(word)
  if text then
    local name, plus, value = text:match("^([%a_][%w_]*)(%+?)=(.*)$")
    return name or text:match("^[%a_][%w_]*$"), value and { parts = { { t = "quo", s = value } } },
      plus == "+"
  end
  local head, rest = {}, {}
  for _, part in ipairs(word.parts) do
    if #rest == 0 and (part.t == "lit" or part.t == "quo") then
      head[#head + 1] = part.s
    else
      rest[#rest + 1] = part
    end
  end
  local name, plus, value = table.concat(head):match("^([%a_][%w_]*)(%+?)=(.*)$")
  table.insert(rest, 1, { t = "lit", s = value or "" })
  return name, name and { parts = rest, text = word.text }, plus == "+"
end

--- Arguments of export and its like: their values are not split.
function assign_words.declare(walk, scope, node, at)
  local command = node.words[1].literal
  for i = 2, #node.words do
    local word = node.words[i]
    local name, value, append = declared(word)
    if name and at.calls and not at.locals[name] and command ~= "export" then
      at.locals[name] = scope.state:get(name)
    end
    if name and value then
      local known = not append and not word.array
      scope:assign_at(name, known and expand.value(scope.ex, value) or state.DYNAMIC, at)
    elseif name and command ~= "export" and command ~= "readonly" then
      scope:assign(name, state.DYNAMIC)
    elseif not name and word.dynamic then
      scope.state:set("*", state.DYNAMIC)
    elseif not name and word.text:find("^[-+]%a*[nluc]") then
      scope.reader:problem("syntax", "an attribute that changes what a variable means", word.text)
    end
    if word.array then
      walk.words(scope, word.array, at)
    end
  end
end

return assign_words
