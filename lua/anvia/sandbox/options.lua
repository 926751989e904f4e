-- SPDX-License-Identifier: MIT
-- options.lua - checks what callers pass in, and copies it.
--
-- A check is a function(value, name): it returns the value to use (a copy, for
-- tables), or nil and a complaint. The caller's tables are never written to.

local cancel = require("anvia.sandbox.cancel")

local M = {}

local tointeger = math.tointeger or function(value)
  return value
end

-- The largest integer that a Lua number of any kind holds exactly.
local MAX_INTEGER = 2 ^ 53

local function must(name, what)
  return nil, "option '" .. name .. "' must be " .. what
end

--- Any string, or only those that `rules` allow: min and max length, pattern, and
--- `what` for the complaint. NUL bytes are refused unless `rules.nul` is set.
function M.string(rules)
  rules = rules or {}
  local what = rules.what or "a string"
  return function(value, name)
    if type(value) ~= "string" then
      return must(name, what)
    end
    if not rules.nul and value:find("\0", 1, true) then
      return nil, "option '" .. name .. "' contains a NUL byte"
    end
    if #value < (rules.min or 0) then
      return must(name, value == "" and "not empty" or what)
    end
    if #value > (rules.max or #value) or (rules.pattern and not value:find(rules.pattern)) then
      return must(name, what)
    end
    return value
  end
end

--- A whole number from `min` to `max`; floats with an integral value are welcome.
function M.integer(min, max)
  max = max or MAX_INTEGER
  local what = "an integer"
  if min and max < MAX_INTEGER then
    what = string.format("an integer from %.0f to %.0f", min, max)
  elseif min == 1 then
    what = "a positive integer"
  elseif min then
    what = string.format("an integer of at least %.0f", min)
  end
  return function(value, name)
    -- A NaN fails the second comparison, an infinity one of the last two.
    if type(value) ~= "number" or value % 1 ~= 0 or value > max or value < (min or -max) then
      return must(name, what)
    end
    return tointeger(value)
  end
end

--- A finite number greater than zero.
function M.positive()
  return function(value, name)
    if type(value) ~= "number" or not (value > 0 and value < math.huge) then
      return must(name, "a number greater than 0")
    end
    return value
  end
end

local function of_type(kind, what)
  return function(value, name)
    if type(value) ~= kind then
      return must(name, what)
    end
    return value
  end
end

M.boolean = of_type("boolean", "true or false")
M.callback = of_type("function", "a function")

--- Anything at all; for values that somebody else checks.
function M.any(value)
  return value
end

function M.cancel_token(value, name)
  if not cancel.is_token(value) then
    return must(name, "a token of sandbox.cancel_token()")
  end
  return value
end

--- One of the strings (or booleans) of `list`.
function M.one_of(list)
  local names = {}
  for i, word in ipairs(list) do
    names[i] = type(word) == "string" and '"' .. word .. '"' or tostring(word)
  end
  local what = "one of " .. table.concat(names, ", ")
  return function(value, name)
    for _, word in ipairs(list) do
      if value == word then
        return value
      end
    end
    return must(name, what)
  end
end

--- Passes what one of the two checks passes; complains as the first does.
function M.either(first, second)
  return function(value, name)
    local result, complaint = first(value, name)
    if complaint == nil then
      return result
    end
    local other, still = second(value, name)
    if still == nil then
      return other
    end
    return nil, complaint
  end
end

--- A list without holes, each item of which passes `check`.
function M.list(check)
  return function(value, name)
    if type(value) ~= "table" then
      return must(name, "a list")
    end
    local size = 0
    for _ in pairs(value) do
      size = size + 1
    end
    local copy = {}
    for i = 1, size do
      if value[i] == nil then
        return must(name, "a list without holes and without other keys")
      end
      local item, complaint = check(value[i], name .. "[" .. i .. "]")
      if complaint then
        return nil, complaint
      end
      copy[i] = item
    end
    return copy
  end
end

--- A table from strings that pass `check_key` to values that pass `check_value`.
function M.map(check_key, check_value)
  return function(value, name)
    if type(value) ~= "table" then
      return must(name, "a table")
    end
    local copy = {}
    for key, item in pairs(value) do
      local _, complaint = check_key(key, name .. " key")
      if complaint then
        return nil, complaint
      end
      copy[key], complaint = check_value(item, name .. "." .. key)
      if complaint then
        return nil, complaint
      end
    end
    return copy
  end
end

-- The number of single edits between two short words.
local function distance(a, b)
  local row = {}
  for j = 0, #b do
    row[j] = j
  end
  for i = 1, #a do
    local diagonal = row[0]
    row[0] = i
    for j = 1, #b do
      local change = a:byte(i) == b:byte(j) and 0 or 1
      diagonal, row[j] = row[j], math.min(row[j] + 1, row[j - 1] + 1, diagonal + change)
    end
  end
  return row[#b]
end

-- A forgotten unit ("timeout") is as near as a slip of the finger.
local function nearness(word, known)
  if #word > 2 and known:sub(1, #word + 1) == word .. "_" then
    return 1
  end
  return distance(word:lower(), known:lower())
end

local function near_miss(word, fields)
  local best, best_distance = nil, 3
  for known in pairs(fields) do
    local d = nearness(word, known)
    if d < best_distance or (d == best_distance and best and known < best) then
      best, best_distance = known, d
    end
  end
  return best and " (did you mean '" .. best .. "'?)" or ""
end

--- A table with the named fields and no others. A field is a check, or a table
--- {check, required = true} or {check, default = value}.
function M.record(fields)
  return function(value, name)
    if type(value) ~= "table" then
      return must(name, "a table")
    end
    local prefix = name == "" and "" or name .. "."
    for key in pairs(value) do
      if type(key) ~= "string" then
        return nil, "unknown option [" .. tostring(key) .. "]"
      elseif fields[key] == nil then
        return nil, "unknown option '" .. prefix .. key .. "'" .. near_miss(key, fields)
      end
    end
    local copy = {}
    for key, field in pairs(fields) do
      local check, rules = field, {}
      if type(field) == "table" then
        check, rules = field[1], field
      end
      local item, complaint = value[key], nil
      if item ~= nil then
        item, complaint = check(item, prefix .. key)
      elseif rules.required then
        complaint = "option '" .. prefix .. key .. "' is required"
      elseif type(rules.default) == "table" then
        item = check(rules.default, prefix .. key)
      else
        item = rules.default
      end
      if complaint then
        return nil, complaint
      end
      copy[key] = item
    end
    return copy
  end
end

--- Checks the one table of options of `call`. A complaint is raised at the line
--- that called the caller of this function; `level` moves it further out.
function M.check(call, check, value, level)
  if value == nil then
    value = {}
  end
  if type(value) ~= "table" then
    error(call .. ": options must be a table", (level or 1) + 2)
  end
  local copy, complaint = check(value, "")
  if complaint then
    error(call .. ": " .. complaint, (level or 1) + 2)
  end
  return copy
end

--- The same for one positional argument.
function M.check_argument(call, check, value, name, level)
  local copy, complaint = check(value, name)
  if complaint then
    error(call .. ": " .. complaint:gsub("^option ", "argument ", 1), (level or 1) + 2)
  end
  return copy
end

return M
