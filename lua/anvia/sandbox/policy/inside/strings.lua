-- SPDX-License-Identifier: MIT
-- Runs inside the box: the string library that policies get. As the real one, without dump and
-- luacheck: read globals patterns
-- pack, and with no function whose work the budgets cannot see.

local env = ...
local patterns = patterns()

local native = string
local sub, find, byte = native.sub, native.find, native.byte

-- The C search takes the length of the needle times the length of the text; longer needles are
-- left to the counted matcher.
local MAX_NEEDLE = 256

local function text(value, index, name)
  if type(value) ~= "string" and type(value) ~= "number" then
    error("bad argument #" .. index .. " to '" .. name .. "' (string expected, got "
      .. type(value) .. ")", 3)
  end
  return tostring(value)
end

local function start(init, s)
  init = init or 1
  if init < 0 then init = #s + init + 1 end
  return init < 1 and 1 or init
end

local own = {}
for _, name in ipairs { "byte", "char", "format", "len", "lower", "reverse", "sub", "upper" } do
  own[name] = native[name]
end

-- The C function counts to n also when there is nothing to repeat.
function own.rep(s, n, separator)
  s, separator = text(s, 1, "rep"), separator == nil and "" or text(separator, 3, "rep")
  if #s + #separator == 0 then return "" end
  return native.rep(s, n, separator)
end

function own.find(s, pattern, init, plain)
  s, pattern = text(s, 1, "find"), text(pattern, 2, "find")
  init = start(init, s)
  if init > #s + 1 then return nil end
  if plain or not find(pattern, "[%^$*+?.(%[%%-]") then
    if #pattern <= MAX_NEEDLE then return find(s, pattern, init, true) end
    pattern = native.gsub(pattern, "%W", "%%%0")
  end
  local p = patterns.compile(pattern, true)
  local from, after, caps = patterns.search(p, s, init)
  if not from then return nil end
  if p.captures == 0 then return from, after - 1 end
  return from, after - 1, patterns.captures(p, caps, s, from, after)
end

function own.match(s, pattern, init)
  s, pattern = text(s, 1, "match"), text(pattern, 2, "match")
  init = start(init, s)
  if init > #s + 1 then return nil end
  local p = patterns.compile(pattern, true)
  local from, after, caps = patterns.search(p, s, init)
  if not from then return nil end
  return patterns.captures(p, caps, s, from, after)
end

function own.gmatch(s, pattern)
  s, pattern = text(s, 1, "gmatch"), text(pattern, 2, "gmatch")
  local p = patterns.compile(pattern, false)
  local at, last = 1, nil
  return function()
    while at <= #s + 1 do
      local after, caps = patterns.match_at(p, s, at)
      if after and after ~= last then
        local from = at
        at, last = after, after
        return patterns.captures(p, caps, s, from, after)
      end
      at = at + 1
    end
    return nil
  end
end

local function expand(p, caps, s, whole, by)
  return (native.gsub(by, "%%(.?)", function(c)
    if c == "0" or (c == "1" and p.captures == 0) then return whole end
    if c == "%" then return "%" end
    local index = c ~= "" and byte(c) - 48 or 0
    if index < 1 or index > p.captures then
      error("invalid use of '%' in replacement string", 0)
    end
    return tostring(patterns.capture(caps, index, s))
  end))
end

local function replacement(p, caps, s, from, after, by)
  local whole = sub(s, from, after - 1)
  local value
  if type(by) == "table" then
    value = by[(patterns.captures(p, caps, s, from, after))]
  elseif type(by) == "function" then
    value = by(patterns.captures(p, caps, s, from, after))
  else
    value = expand(p, caps, s, whole, by)
  end
  if not value then return whole end
  if type(value) ~= "string" and type(value) ~= "number" then
    error("invalid replacement value (a " .. type(value) .. ")", 0)
  end
  return tostring(value)
end

function own.gsub(s, pattern, by, limit)
  s, pattern = text(s, 1, "gsub"), text(pattern, 2, "gsub")
  if type(by) ~= "table" and type(by) ~= "function" then by = text(by, 3, "gsub") end
  local p = patterns.compile(pattern, true)
  local out, count, at, last, copied = {}, 0, 1, nil, 1
  while at <= #s + 1 and (not limit or count < limit) do
    local after, caps = patterns.match_at(p, s, at)
    if after and after ~= last then
      count = count + 1
      out[#out + 1] = sub(s, copied, at - 1)
      out[#out + 1] = replacement(p, caps, s, at, after, by)
      copied, last, at = after, after, after
    else
      at = at + 1
    end
    if p.anchored then break end
  end
  out[#out + 1] = sub(s, copied)
  return table.concat(out), count
end

env.string = own
getmetatable("").__index = own
