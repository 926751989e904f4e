-- SPDX-License-Identifier: MIT
--- The ways in which the parts of a word can be read, before they are cut into fields.
---
--- A way is a list of segments: {s, quoted} text, {s, split} the result of an unquoted expansion,
--- {words, q, star} several words as from "$@", {hole, single, number, process} something not
--- known.

local params = require("anvia.sandbox.policy.shell.params")
local builder = require("anvia.sandbox.policy.shell.builder")

--- More ways than this become one that is not known.
local MAX_WAYS = 12

local module = {}

local segments

--- The ways to read one value of a parameter: each a list of segments.
local function value_segments(ex, part, value, out)
  local result, instead = params.apply(part, value)
  if type(result) == "string" and not ex.spend(#result)
    or type(result) == "table" and not ex.spend(8 * #result.words) then
    result = nil
  end
  if instead then
    for _, way in ipairs(segments(ex, part.word)) do
      out[#out + 1] = way
    end
  elseif result == nil then
    local several = part.index or part.name == "@" or part.name == "*"
    out[#out + 1] = { { hole = true, single = part.q and not several } }
  elseif result == false then
    out[#out + 1] = part.q and { { s = "", quoted = true } } or {}
  elseif type(result) == "table" then
    local star = part.name == "*"
    if part.index then
      star = part.index[1] and part.index[1].s == "*"
    end
    out[#out + 1] = { { words = result.words, q = part.q, star = star, one = result.one } }
  else
    out[#out + 1] = { { s = result, quoted = part.q, split = not part.q } }
  end
end

local function variable(ex, part)
  if part.indirect then
    return { { { hole = true } } }
  end
  local set, out = params.lookup(ex.state, part.name), {}
  for _, value in ipairs(set) do
    value_segments(ex, part, value, out)
  end
  if set.dynamic or #out == 0 then
    local at = part.name == "@" or part.name == "*" or part.index
    local number = params.is_number(part)
    out[#out + 1] = { { hole = true, single = number or (part.q and not at), number = number } }
    if params.may_use_word(part) then
      for _, way in ipairs(segments(ex, part.word)) do
        out[#out + 1] = way
      end
    end
  end
  return out
end

--- The segments of a text that has unknown places.
local function with_holes(text, quoted)
  local out = {}
  for piece, hole in text:gmatch("([^\1]*)(\1?)") do
    if piece ~= "" then
      out[#out + 1] = { s = piece, quoted = quoted }
    end
    if hole ~= "" then
      out[#out + 1] = { hole = true, single = false }
    end
  end
  return out
end

--- The ways to read one part.
local function ways_of(ex, part)
  local t = part.t
  if t == "quo" or t == "lit" then
    if ex.holes and part.s:find(builder.HOLE, 1, true) then
      return { with_holes(part.s, t == "quo") }
    end
    return { { { s = part.s, quoted = t == "quo" } } }
  elseif t == "var" then
    return variable(ex, part)
  elseif t == "sub" then
    local text = ex.substitute and ex.substitute(part.list)
    if text then
      return { { { s = text, quoted = part.q, split = not part.q } } }
    end
    return { { { hole = true, single = part.q } } }
  end
  return { { { hole = true, single = t ~= "bad", process = t == "proc", number = t == "arith" } } }
end

--- The ways to read a list of parts.
segments = function(ex, parts)
  local ways = { {} }
  for _, part in ipairs(parts) do
    local own = ways_of(ex, part)
    if #ways * #own > MAX_WAYS then
      own = { { { hole = true, single = part.q } } }
    end
    if #own == 1 then
      for _, way in ipairs(ways) do
        for _, segment in ipairs(own[1]) do
          way[#way + 1] = segment
        end
      end
    else
      local all = {}
      for _, way in ipairs(ways) do
        for _, tail in ipairs(own) do
          local joined = {}
          for _, segment in ipairs(way) do
            joined[#joined + 1] = segment
          end
          for _, segment in ipairs(tail) do
            joined[#joined + 1] = segment
          end
          all[#all + 1] = joined
        end
      end
      ways = all
    end
  end
  return ways
end

--- The ways to read a list of parts.
---@param ex anvia.sandbox.shell.Expander
---@param parts anvia.sandbox.shell.Part[]
module.of = segments

--- The ways to read one part.
module.of_part = ways_of

return module
