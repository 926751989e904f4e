-- SPDX-License-Identifier: MIT
-- Runs inside the box: Lua patterns, matched by Lua code.
--
-- Pattern matching in C cannot be interrupted, and a pattern with many quantifiers over a short
-- text runs for years. Written in Lua, each of its steps is counted by the budget. A single
-- character is still tested by the C matcher, which is done after one of them.

local byte, sub, find, char = string.byte, string.sub, string.find, string.char

local patterns = {}

local function malformed(what)
  error("malformed pattern (" .. what .. ")", 0)
end

local function set_end(pattern, at)
  local i = at + 1
  if sub(pattern, i, i) == "^" then i = i + 1 end
  repeat
    local c = sub(pattern, i, i)
    if c == "" then malformed("missing ']'") end
    i = i + (c == "%" and 2 or 1)
  until sub(pattern, i, i) == "]"
  return i
end

-- An item that stands for one character, with its quantifier.
local function single(pattern, at)
  local c = sub(pattern, at, at)
  local last = at
  if c == "%" then
    last = at + 1
    if last > #pattern then malformed("ends with '%'") end
  elseif c == "[" then
    last = set_end(pattern, at)
  end
  local item = { kind = "single" }
  local text = sub(pattern, at, last)
  if c == "." then
    item.any = true
  elseif #text == 1 then
    item.byte = byte(text)
  else
    item.class = "^" .. text
  end
  local quantifier = sub(pattern, last + 1, last + 1)
  if quantifier ~= "" and find("*+-?", quantifier, 1, true) then
    item.quantifier = quantifier
    last = last + 1
  end
  return item, last + 1
end

-- What follows a '%' and is no character class; nil when it is one.
local function special(pattern, at)
  local c = sub(pattern, at + 1, at + 1)
  if c == "b" then
    if at + 3 > #pattern then malformed("missing arguments to '%b'") end
    return { kind = "balance", open = byte(pattern, at + 2), close = byte(pattern, at + 3) }, at + 4
  elseif c == "f" then
    if sub(pattern, at + 2, at + 2) ~= "[" then malformed("missing '[' after '%f'") end
    local last = set_end(pattern, at + 2)
    return { kind = "frontier", class = "^" .. sub(pattern, at + 2, last) }, last + 1
  elseif find(c, "^[0-9]") then
    return { kind = "back", index = byte(c) - 48 }, at + 2
  end
  return nil
end

local function open_item(p, pattern, at)
  p.captures = p.captures + 1
  if p.captures > 32 then error("too many captures", 0) end
  if sub(pattern, at + 1, at + 1) == ")" then
    return { kind = "position", index = p.captures }, at + 2
  end
  p.open[#p.open + 1] = p.captures
  return { kind = "open", index = p.captures }, at + 1
end

local function close_item(p, at)
  local index = table.remove(p.open)
  if not index then error("invalid pattern capture", 0) end
  return { kind = "close", index = index }, at + 1
end

-- `anchors` is false where a leading '^' stands for itself.
function patterns.compile(pattern, anchors)
  local p = { items = {}, captures = 0, open = {} }
  local at = 1
  if anchors and sub(pattern, 1, 1) == "^" then
    p.anchored = true
    at = 2
  end
  while at <= #pattern do
    local c = sub(pattern, at, at)
    local item, after
    if c == "(" then item, after = open_item(p, pattern, at)
    elseif c == ")" then item, after = close_item(p, at)
    elseif c == "$" and at == #pattern then item, after = { kind = "end" }, at + 1
    elseif c == "%" then item, after = special(pattern, at)
    end
    if not item then item, after = single(pattern, at) end
    p.items[#p.items + 1] = item
    at = after
  end
  if #p.open > 0 then error("unfinished capture", 0) end
  return p
end

local function fits(item, s, i)
  local b = byte(s, i)
  if not b then return false end
  if item.byte then return item.byte == b end
  return item.any or find(char(b), item.class) ~= nil
end

local function balance_end(item, s, i)
  if byte(s, i) ~= item.open then return nil end
  local depth = 1
  for j = i + 1, #s do
    local b = byte(s, j)
    if b == item.close then
      depth = depth - 1
      if depth == 0 then return j + 1 end
    elseif b == item.open then
      depth = depth + 1
    end
  end
  return nil
end

local function frontier(item, s, i)
  local before = i > 1 and sub(s, i - 1, i - 1) or "\0"
  local here = i <= #s and sub(s, i, i) or "\0"
  return not find(before, item.class) and find(here, item.class) ~= nil
end

local function back_end(item, s, i, caps)
  local cap = caps[item.index]
  if not cap or not cap.to then error("invalid capture index", 0) end
  local text = sub(s, cap.from, cap.to)
  return sub(s, i, i + #text - 1) == text and i + #text or nil
end

local match

local function match_quantified(p, k, s, i, caps)
  local item = p.items[k]
  local quantifier = item.quantifier
  if quantifier == "?" then
    return fits(item, s, i) and match(p, k + 1, s, i + 1, caps) or match(p, k + 1, s, i, caps)
  elseif quantifier == "-" then
    while true do
      local after = match(p, k + 1, s, i, caps)
      if after then return after end
      if not fits(item, s, i) then return nil end
      i = i + 1
    end
  end
  local last = i
  while fits(item, s, last) do last = last + 1 end
  for stop = last, quantifier == "+" and i + 1 or i, -1 do
    local after = match(p, k + 1, s, stop, caps)
    if after then return after end
  end
  return nil
end

local function match_capture(p, k, s, i, caps)
  local item = p.items[k]
  local before = caps[item.index]
  if item.kind == "open" then
    caps[item.index] = { from = i }
  elseif item.kind == "position" then
    caps[item.index] = { position = i }
  else
    caps[item.index] = { from = before.from, to = i - 1 }
  end
  local after = match(p, k + 1, s, i, caps)
  if not after then caps[item.index] = before end
  return after
end

-- One past the end of a match at i of the items from k on, or nil.
function match(p, k, s, i, caps)
  while i do
    local item = p.items[k]
    if not item then return i end
    local kind = item.kind
    if kind == "single" then
      if item.quantifier then return match_quantified(p, k, s, i, caps) end
      i = fits(item, s, i) and i + 1 or nil
    elseif kind == "end" then
      i = i == #s + 1 and i or nil
    elseif kind == "balance" then
      i = balance_end(item, s, i)
    elseif kind == "frontier" then
      i = frontier(item, s, i) and i or nil
    elseif kind == "back" then
      i = back_end(item, s, i, caps)
    else
      return match_capture(p, k, s, i, caps)
    end
    k = k + 1
  end
  return nil
end

--- One past the end of a match that begins at i, and the captures; or nil.
function patterns.match_at(p, s, i)
  local caps = {}
  local after = match(p, 1, s, i, caps)
  return after, caps
end

function patterns.search(p, s, init)
  for i = init, p.anchored and init or #s + 1 do
    local after, caps = patterns.match_at(p, s, i)
    if after then return i, after, caps end
  end
  return nil
end

function patterns.capture(caps, index, s)
  local cap = caps[index]
  return cap.position or sub(s, cap.from, cap.to)
end

--- The captures as values, the whole match when there are none.
function patterns.captures(p, caps, s, from, after)
  if p.captures == 0 then return sub(s, from, after - 1) end
  local values = {}
  for i = 1, p.captures do values[i] = patterns.capture(caps, i, s) end
  return table.unpack(values, 1, p.captures)
end

return patterns
