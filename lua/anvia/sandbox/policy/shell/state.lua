-- SPDX-License-Identifier: MIT
--- What is known about the variables of a script at one point of it.
---
--- A variable has a set of possible values: texts, `false` for unset, {words} for an array, and the
--- mark `dynamic` when it may hold something that the text does not tell. Sets are never changed in
--- place. Changes go to a trail, so that a branch or a subshell can be undone and branches be joined
--- at a cost that follows the number of changes.
---
--- Besides variables the state holds, under names no variable can have: "@" (the positional
--- parameters), "/cwd" (the directory), "f:NAME" (a function), "a:NAME" (an alias) and "<exec" (the
--- standard input was changed by exec).

---@alias anvia.sandbox.shell.Value string|false|{words: anvia.sandbox.Word[]}
---@class anvia.sandbox.shell.Values
---@field [integer] anvia.sandbox.shell.Value
---@field dynamic boolean?

local MAX_VALUES = 8

local state = {}
state.__index = state

local DYNAMIC = { dynamic = true }
local UNSET = { false }

state.DYNAMIC = DYNAMIC
state.UNSET = UNSET

---@param initial table<string, anvia.sandbox.shell.Values>
---@param unknown fun(name: string): anvia.sandbox.shell.Values  for names not in `initial`
function state.new(initial, unknown)
  return setmetatable({
    values = initial,
    trail = {},
    unknown = unknown,
    star = 0, -- which setting of "*" holds; 0: none
    stars = 0, -- how often "*" was set
    since = {}, -- under which of them a variable was set
  }, state)
end

local function same(a, b)
  if a == b then
    return true
  end
  if type(a) ~= "table" or type(b) ~= "table" or #a.words ~= #b.words then
    return false
  end
  for i, word in ipairs(a.words) do
    if word ~= b.words[i] then
      return false
    end
  end
  return true
end

local function has(set, value)
  for _, known in ipairs(set) do
    if same(known, value) then
      return true
    end
  end
  return false
end

--- The union of two sets.
---@return anvia.sandbox.shell.Values
function state.join(a, b)
  if a == b then
    return a
  end
  local out = { dynamic = a.dynamic or b.dynamic }
  for _, set in ipairs({ a, b }) do
    for _, value in ipairs(set) do
      if not has(out, value) then
        if #out == MAX_VALUES then
          out.dynamic = true
          return out
        end
        out[#out + 1] = value
      end
    end
  end
  return out
end

--- The one value of a set, or nil when there are several or it is not known.
function state.single(set)
  if #set == 1 and not set.dynamic then
    return set[1]
  end
end

--- The set of values of a variable. After "*" was set, everything is possible for the variables that
--- were not set since.
---@param name string
---@return anvia.sandbox.shell.Values
function state:get(name)
  if name == "*" then
    return self.star > 0 and DYNAMIC or UNSET
  end
  local set = self.values[name]
  if not set then
    set = self.unknown(name)
    self.values[name] = set
  end
  if self.star > 0 and not set.dynamic and (self.since[name] or 0) ~= self.star
    and name:find("^[%a_][%w_]*$") then
    return state.join(set, DYNAMIC)
  end
  return set
end

function state:set(name, set)
  local trail = self.trail
  if name == "*" then
    trail[#trail + 1] = { name, self.star }
    if set.dynamic then
      self.stars = self.stars + 1
      self.star = self.stars
    end
    return
  end
  trail[#trail + 1] = { name, self.values[name], self.since[name] }
  self.values[name], self.since[name] = set, self.star
end

--- Adds possible values to a variable.
function state:widen(name, set)
  self:set(name, state.join(self:get(name), set))
end

function state:mark()
  return #self.trail
end

--- Takes back what was set since `mark`.
---@return table<string, anvia.sandbox.shell.Values> changed  what it was
function state:undo(mark)
  local changed, trail = {}, self.trail
  for i = #trail, mark + 1, -1 do
    local name = trail[i][1]
    if changed[name] == nil then
      changed[name] = self:get(name)
    end
  end
  for i = #trail, mark + 1, -1 do
    local name = trail[i][1]
    if name == "*" then
      self.star = trail[i][2]
    else
      self.values[name], self.since[name] = trail[i][2], trail[i][3]
    end
    trail[i] = nil
  end
  return changed
end

--- Joins branches of which one runs, or none when `optional`.
---@param branches table<string, anvia.sandbox.shell.Values>[]  as undo gave them
---@param optional boolean
function state:merge(branches, optional)
  local joined, count = {}, {}
  for _, changed in ipairs(branches) do
    for name, set in pairs(changed) do
      joined[name] = joined[name] and state.join(joined[name], set) or set
      count[name] = (count[name] or 0) + 1
    end
  end
  if joined["*"] then
    self:set("*", joined["*"])
    joined["*"] = nil
  end
  for name, set in pairs(joined) do
    if optional or count[name] < #branches then
      set = state.join(self:get(name), set)
    end
    self:set(name, set)
  end
end

return state
