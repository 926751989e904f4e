-- SPDX-License-Identifier: MIT
--- Values of parameters: ${x}, ${x:-word}, ${x##*/} and the like, as far as they are known.

local state = require("anvia.sandbox.policy.shell.state")

local params = {}

local MAX_PATTERN_VALUE = 512

--- Parameters whose value only a running shell knows.
local RUNTIME = { ["?"] = true, ["$"] = true, ["!"] = true, ["-"] = true }

--- Variables that a shell sets by itself: what a script assigns to them does not stay.
local VOLATILE = {}
for name in ("_ PWD OLDPWD RANDOM SRANDOM SECONDS LINENO PIPESTATUS FUNCNAME DIRSTACK PPID "
  .. "UID EUID GROUPS OPTARG OPTIND REPLY EPOCHSECONDS EPOCHREALTIME HISTCMD"):gmatch("%S+") do
  VOLATILE[name] = true
end

--- The positional parameters as a list of words, or nil.
local function positional(st)
  local value = state.single(st:get("@"))
  return value and value.words
end

--- The set of values of a parameter without an operator.
---@param st table state
---@param name string
---@return anvia.sandbox.shell.Values
function params.lookup(st, name)
  if RUNTIME[name] then
    return state.DYNAMIC
  elseif name == "@" or name == "*" then
    return st:get("@")
  elseif name == "0" then
    return st:get("0")
  elseif name == "#" then
    local words = positional(st)
    for _, word in ipairs(words or {}) do
      if type(word) ~= "string" and not word.single then
        words = nil
        break
      end
    end
    return words and { tostring(#words) } or state.DYNAMIC
  elseif name:find("^%d") then
    local words, index = positional(st), tonumber(name)
    if not words then
      return state.DYNAMIC
    end
    for i = 1, math.min(index, #words) do
      if type(words[i]) ~= "string" and not words[i].single then
        return state.DYNAMIC
      end
    end
    local word = words[index]
    if word == nil then
      return state.UNSET
    end
    return type(word) == "string" and { word } or { { words = { word }, one = true } }
  end
  local set = st:get(name)
  if not set.dynamic and (VOLATILE[name] or name:find("^BASH")) then
    return state.join(set, state.DYNAMIC)
  end
  return set
end

--- A matcher for a shell pattern made of plain characters, * and ?; nil for any other.
local function matcher(pattern)
  if pattern:find("[%[%]\\]") then
    return nil
  end
  local lua = pattern:gsub("[%^%$%(%)%%%.%+%-]", "%%%0"):gsub("%?", "."):gsub("%*", ".*")
  return function(text)
    return text:find("^" .. lua .. "$") ~= nil
  end
end

--- ${x#pattern} and its three siblings.
local function trim(value, op, pattern)
  local matches = matcher(pattern)
  if not matches or #value > MAX_PATTERN_VALUE or #pattern > 32
    or select(2, pattern:gsub("*", "")) > 2 then
    return nil
  end
  local from, to, step = 0, #value, 1
  if op == "##" or op == "%%" then
    from, to, step = to, from, -1
  end
  for size = from, to, step do
    if op:sub(1, 1) == "#" then
      if matches(value:sub(1, size)) then
        return value:sub(size + 1)
      end
    elseif matches(value:sub(#value - size + 1)) then
      return value:sub(1, #value - size)
    end
  end
  return value
end

local function plain_text(parts)
  local out = {}
  for i, part in ipairs(parts) do
    if part.t ~= "lit" and part.t ~= "quo" then
      return nil
    end
    out[i] = part.t == "quo" and part.s:find("[*?%[]") and "[" or part.s
  end
  return table.concat(out)
end

--- An element of an array.
local function element(value, index)
  local at = plain_text(index)
  if at == "@" or at == "*" then
    return value
  elseif type(value) ~= "table" then
    return at == "0" and value or nil
  end
  local number = at and tonumber(at:match("^%d+$"))
  for i = 1, math.min(#value.words, (number or -1) + 1) do
    if type(value.words[i]) ~= "string" then
      return nil
    end
  end
  if not number then
    return nil
  end
  return value.words[number + 1] or false
end

--- What one value of the parameter becomes. Gives a value, or nil when it is not known, or "word"
--- as a second result when the word after the operator stands instead.
---@param part anvia.sandbox.shell.Part
---@param value anvia.sandbox.shell.Value
function params.apply(part, value)
  if part.index then
    value = element(value, part.index)
    if value == nil then
      return nil
    end
  elseif type(value) == "table" and not value.one and part.name:find("^[%a_]") then
    value = value.words[1] or false
    if type(value) ~= "string" and value ~= false then
      return nil
    end
  end
  if part.length then
    return type(value) == "string" and not value:find("[\128-\255]") and tostring(#value) or nil
  end
  local op = part.op
  if not op then
    return value
  elseif type(value) == "table" then
    return nil
  end

  local missing = value == false or (op:sub(1, 1) == ":" and value == "")
  if op == "+" or op == ":+" then
    if missing then
      return ""
    end
    return nil, "word"
  elseif op == "-" or op == ":-" or op == "=" or op == ":=" then
    if missing then
      return nil, "word"
    end
    return value
  elseif op == "?" or op == ":?" then
    return value
  elseif op == "#" or op == "##" or op == "%" or op == "%%" then
    local pattern = plain_text(part.word)
    if pattern and not pattern:find("~", 1, true) then
      return trim(value or "", op, pattern)
    end
  end
  return nil
end

--- True when the word after the operator may stand in place of a value that is not known.
function params.may_use_word(part)
  local op = part.op
  return op ~= nil and op:find("^:?[-=+]$") ~= nil
end

--- True when the value can only be digits.
function params.is_number(part)
  local name = part.name
  return not part.op and (part.length or name == "?" or name == "$" or name == "!" or name == "#")
end

return params
