-- SPDX-License-Identifier: MIT
--- Brace expansion: one word to several, before anything else happens to it.

local brace = {}

local MAX_WORDS = 64

--- Cuts the parts at unquoted braces and commas.
---@return table[] atoms  parts, or {mark = "{"}
local function atoms_of(parts)
  local atoms = {}
  for _, part in ipairs(parts) do
    if part.t ~= "lit" then
      atoms[#atoms + 1] = part
    else
      for text, mark in part.s:gmatch("([^{},]*)([{},]?)") do
        if text ~= "" then
          atoms[#atoms + 1] = { t = "lit", s = text }
        end
        if mark ~= "" then
          atoms[#atoms + 1] = { mark = mark }
        end
      end
    end
  end
  return atoms
end

--- For each opening brace its closing one and the commas between them.
local function pairs_of(atoms)
  local open, found = {}, {}
  for i, atom in ipairs(atoms) do
    if atom.mark == "{" then
      open[#open + 1] = { from = i, commas = {} }
    elseif atom.mark == "," and #open > 0 then
      local commas = open[#open].commas
      commas[#commas + 1] = i
    elseif atom.mark == "}" and #open > 0 then
      local pair = open[#open]
      open[#open] = nil
      pair.to = i
      found[pair.from] = pair
    end
  end
  return found
end

--- The words of {1..3}, {a..e} or {1..9..2}; nil when it is none, false when there are too many.
local function sequence(text)
  local first, last, step = text:match("^([^.]+)%.%.([^.]+)%.%.(%-?%d+)$")
  if not first then
    first, last = text:match("^([^.]+)%.%.([^.]+)$")
  end
  if not first then
    return nil
  end
  local from, to = tonumber(first:match("^[+-]?%d+$")), tonumber(last:match("^[+-]?%d+$"))
  local chars = first:find("^%a$") ~= nil and last:find("^%a$") ~= nil
  if chars then
    from, to = first:byte(), last:byte()
  end
  if not from or not to then
    return nil
  end
  local by = math.abs(tonumber(step or 1))
  by = by == 0 and 1 or by
  if math.abs(to - from) / by >= MAX_WORDS then
    return false
  end
  local width = 0
  if not chars and (first:find("^[+-]?0%d") or last:find("^[+-]?0%d")) then
    width = math.max(#first, #last)
  end
  local out, form = {}, width > 0 and "%0" .. width .. "d" or "%d"
  for value = from, to, from <= to and by or -by do
    out[#out + 1] = chars and string.char(value) or form:format(value)
  end
  return out
end

--- Text of atoms between two positions, when they are only literal.
local function text_between(atoms, from, to)
  local out = {}
  for i = from, to do
    if atoms[i].t ~= "lit" then
      return nil
    end
    out[#out + 1] = atoms[i].s
  end
  return table.concat(out)
end

local range

--- The alternatives of one group, or nil when it is plain text; false: too many.
local function group(atoms, found, pair)
  local commas, out = pair.commas, {}
  if #commas == 0 then
    local text = text_between(atoms, pair.from + 1, pair.to - 1)
    local items = text and sequence(text)
    if not items then
      return items
    end
    for i, item in ipairs(items) do
      out[i] = { { t = "lit", s = item } }
    end
    return out
  end
  local from = pair.from + 1
  for i = 1, #commas + 1 do
    local to = (commas[i] or pair.to) - 1
    local piece = range(atoms, found, from, to)
    if not piece or #out + #piece > MAX_WORDS then
      return false
    end
    for _, parts in ipairs(piece) do
      out[#out + 1] = parts
    end
    from = to + 2
  end
  return out
end

local function product(heads, tails)
  if #heads * #tails > MAX_WORDS then
    return nil
  end
  local out = {}
  for _, head in ipairs(heads) do
    for _, tail in ipairs(tails) do
      local parts = {}
      for _, part in ipairs(head) do
        parts[#parts + 1] = part
      end
      for _, part in ipairs(tail) do
        parts[#parts + 1] = part
      end
      out[#out + 1] = parts
    end
  end
  return out
end

--- All words that the atoms from..to stand for, or nil when there are too many.
range = function(atoms, found, from, to)
  local out, at = { {} }, from
  while at <= to do
    local atom, pair = atoms[at], found[at]
    local alternatives
    if pair then
      alternatives = group(atoms, found, pair)
      if alternatives == false then
        return nil
      end
    end
    if alternatives then
      out = product(out, alternatives)
      if not out then
        return nil
      end
      at = pair.to + 1
    else
      local part = atom.mark and { t = "lit", s = atom.mark } or atom
      for _, parts in ipairs(out) do
        parts[#parts + 1] = part
      end
      at = at + 1
    end
  end
  return out
end

--- The words that one word stands for.
---@param parts anvia.sandbox.shell.Part[]
---@return anvia.sandbox.shell.Part[][]? words  nil: too many
function brace.expand(parts)
  local open = false
  for _, part in ipairs(parts) do
    open = open or (part.t == "lit" and part.s:find("{", 1, true) ~= nil)
  end
  if not open then
    return { parts }
  end
  local atoms = atoms_of(parts)
  return range(atoms, pairs_of(atoms), 1, #atoms)
end

return brace
