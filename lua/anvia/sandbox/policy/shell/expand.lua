-- SPDX-License-Identifier: MIT
--- Turns words into the fields that a program gets, with what is known of the variables.
---
--- A word has alternatives when a variable has several possible values. Each alternative is a list of
--- fields (none for an unset $x, several for "$@").

local state = require("anvia.sandbox.policy.shell.state")
local params = require("anvia.sandbox.policy.shell.params")
local brace = require("anvia.sandbox.policy.shell.brace")
local builder = require("anvia.sandbox.policy.shell.builder")

local MAX_ALTERNATIVES = 12

--- A longer text is not followed through variables.
local MAX_VALUE = 8192

local expand = {}

---@class anvia.sandbox.shell.Expander
---@field state table
---@field dialect anvia.sandbox.Dialect
---@field holes boolean?  a byte 1 in the text stands for something unknown
---@field substitute (fun(list: table): string?)?  the output of a substitution when it is known
---@field sets_ifs boolean the script speaks of IFS
---@field watch boolean?   tell `seen` about fields too
---@field seen (fun(word: anvia.sandbox.Word))?  told every text that becomes a value
---@field spend fun(size: integer): boolean  false when too much text was expanded already

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
    if #ways * #own > MAX_ALTERNATIVES then
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

local function add_words(b, segment, separator)
  for i, word in ipairs(segment.words) do
    if i > 1 then
      if segment.star and segment.q then
        b:quoted(separator)
      else
        b:cut()
      end
    end
    if segment.q then
      b:field(word)
    elseif type(word) == "string" then
      b:split(word)
    else
      b:field(word)
      if not segment.one or not word.single then
        b:hole(false)
      end
    end
  end
end

--- Feeds the segments of one way into a builder.
local function feed(b, way, ifs)
  for _, segment in ipairs(way) do
    if segment.hole then
      b:hole(segment.single, segment.process, segment.number)
    elseif segment.words then
      add_words(b, segment, ifs:sub(1, 1))
    elseif segment.quoted then
      b:quoted(segment.s)
    elseif segment.split then
      b:split(segment.s)
    else
      b:literal(segment.s)
    end
  end
end

--- A tilde prefix is the home directory of someone: replaces it by a part that is not known.
local function tilde(ex, parts)
  local first = parts[1]
  if not first or first.t ~= "lit" or first.s:sub(1, 1) ~= "~" then
    return parts
  end
  local name, rest = first.s:match("^~([^/]*)(.*)$")
  local out = { { t = "bad" }, { t = "lit", s = rest } }
  local home = name == "" and #parts >= 1 and state.single(ex.state:get("HOME"))
  if type(home) == "string" and (rest ~= "" or #parts == 1) then
    out[1] = { t = "quo", s = home }
  else
    out[1] = { t = "sub", q = true, list = { items = {} } }
  end
  for i = 2, #parts do
    out[#out + 1] = parts[i]
  end
  return out
end

--- Field separators, or nil when they are not known.
local function separators(ex)
  if not ex.sets_ifs then
    return " \t\n"
  end
  local set = ex.state:get("IFS")
  local value = state.single(set)
  if value == false then
    return " \t\n"
  end
  return value
end

--- True when the ways hold an unquoted expansion that field splitting may cut.
local function splits(ways)
  for _, way in ipairs(ways) do
    for _, segment in ipairs(way) do
      if segment.split or (segment.words and not segment.q) then
        return true
      end
    end
  end
  return false
end

local function fields_of_parts(ex, parts, text)
  local ways = segments(ex, tilde(ex, parts))
  local ifs = separators(ex)
  if not ifs and splits(ways) then
    -- The separators are one of several: the value may fall apart anywhere.
    ways[#ways + 1] = { { hole = true } }
  end
  local out = {}
  for i, way in ipairs(ways) do
    local b = builder.new(text, ifs or " \t\n")
    feed(b, way, ifs or " ")
    out[i] = b:finish()
    if ex.seen and ex.watch then
      for _, field in ipairs(out[i]) do
        ex.seen(field)
      end
    end
  end
  return out
end

--- Joins the alternatives of several words that follow each other.
local function concat(lists)
  local out = { {} }
  for _, alternatives in ipairs(lists) do
    if #alternatives * #out > MAX_ALTERNATIVES then
      return nil
    end
    local all = {}
    for _, head in ipairs(out) do
      for _, tail in ipairs(alternatives) do
        local joined = {}
        for _, field in ipairs(head) do
          joined[#joined + 1] = field
        end
        for _, field in ipairs(tail) do
          joined[#joined + 1] = field
        end
        all[#all + 1] = joined
      end
    end
    out = all
  end
  return out
end

--- A word of which nothing is known.
---@return anvia.sandbox.DynamicWord
function expand.unknown(text)
  return { dynamic = true, text = text, pattern = "*", prefix = "", single = false, glob = false,
    holed = builder.HOLE }
end

--- The fields of a word: a list of alternatives.
---@param ex anvia.sandbox.shell.Expander
---@param word anvia.sandbox.shell.Word
---@return anvia.sandbox.Word[][]
function expand.fields(ex, word)
  local literal = word.literal
  if literal and not literal:find("[*?%[~{\1]") then
    return { { literal } }
  end
  local parts = word.parts or { { t = "lit", s = literal } }
  if not ex.dialect.braces then
    return fields_of_parts(ex, parts, word.text)
  end
  local words = brace.expand(parts)
  if not words then
    return { { expand.unknown(word.text) } }
  elseif #words == 1 then
    return fields_of_parts(ex, words[1], word.text)
  end
  local lists = {}
  for i, each in ipairs(words) do
    lists[i] = fields_of_parts(ex, each, word.text)
  end
  return concat(lists) or { { expand.unknown(word.text) } }
end

--- The values of the right-hand side of an assignment: nothing is split, nothing globbed.
---@return anvia.sandbox.shell.Values
function expand.value(ex, word)
  local literal = word.literal
  if literal and not literal:find("[~\1]") then
    if ex.seen then
      ex.seen(literal)
    end
    return { literal }
  end
  local out = {}
  for _, way in ipairs(segments(ex, tilde(ex, word.parts or { { t = "lit", s = literal } }))) do
    local pieces, known = {}, true
    for _, segment in ipairs(way) do
      local text = segment.s
      if segment.words and #segment.words == 1 and type(segment.words[1]) == "string" then
        text = segment.words[1]
      end
      known = known and text ~= nil and (segment.quoted or not text:find(":~", 1, true))
      pieces[#pieces + 1] = text
    end
    local text = known and table.concat(pieces)
    if text and #text <= MAX_VALUE then
      out[#out + 1] = text
      if ex.seen then
        ex.seen(text)
      end
    else
      out.dynamic = true
    end
  end
  return out
end

--- Text with expansions in it, as in a here-document: with a byte 1 where something is not known.
---@param ex anvia.sandbox.shell.Expander
---@param parts anvia.sandbox.shell.Part[]
---@return string text, boolean known
function expand.text(ex, parts)
  local out, known = {}, true
  for _, part in ipairs(parts) do
    local ways = ways_of(ex, part)
    local way = #ways == 1 and ways[1] or { { hole = true } }
    for _, segment in ipairs(way) do
      if segment.s then
        out[#out + 1] = segment.s
      else
        known = false
        out[#out + 1] = builder.HOLE
      end
    end
  end
  return table.concat(out), known
end

return expand
