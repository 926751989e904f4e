-- SPDX-License-Identifier: MIT
-- Globs over one token and over paths. Runs outside and inside the box, so it requires nothing.
--
-- A token glob: `*` any bytes, `?` one byte, `[a-z]` and `[!a-z]` one of a set, `\` takes the next
-- character as it is. A path glob is the same for each part of the path, with `**` for any number
-- of parts, and reads like a line of a .gitignore:
--   *.pem      no slash: a name at any depth          src/**   from the workspace
--   build      a directory covers what is in it       /etc/**  from the root of the container
--
-- Both take time in proportion to glob times text: the pieces between stars are found from left to
-- right, and nothing is tried twice. A path never decides how long its own check takes.

local glob = {}

local find, sub, byte, lower = string.find, string.sub, string.byte, string.lower

local function set_pattern(text, at)
  local close = find(text, "]", at + 2, true)
  if sub(text, at + 1, at + 1) == "!" or sub(text, at + 1, at + 1) == "^" then
    close = find(text, "]", at + 3, true)
  end
  if not close then return nil end
  local inside = sub(text, at + 1, close - 1)
  local negated = find(inside, "^[!^]") ~= nil
  if negated then inside = sub(inside, 2) end
  inside = string.gsub(inside, "[%%%]^]", "%%%0")
  return "[" .. (negated and "^" or "") .. inside .. "]", close
end

-- One piece between stars: text to look for, plain where it can be, and the bytes it takes.
local function new_piece()
  return { text = "", length = 0, plain = true }
end

local function add_literal(piece, c)
  piece.length = piece.length + 1
  piece.text = piece.text .. (find(c, "%w") and c or "%" .. c)
end

local function add_class(piece, class)
  piece.length = piece.length + 1
  piece.plain = false
  piece.text = piece.text .. class
end

local function finish(piece)
  if piece.plain then piece.text = string.gsub(piece.text, "%%(.)", "%1") end
  piece.start = piece.plain and piece.text or "^" .. piece.text
  return piece
end

--- Compiles a token glob -> matcher | nil, what is wrong
function glob.token(text, folded)
  if folded then text = lower(text) end
  if not find(text, "[*?%[\\]") then return { literal = text, text = text, folded = folded } end
  local pieces = { new_piece() }
  local at = 1
  while at <= #text do
    local c = sub(text, at, at)
    local piece = pieces[#pieces]
    if c == "*" then
      if piece.length > 0 or #pieces == 1 then pieces[#pieces + 1] = new_piece() end
    elseif c == "?" then
      add_class(piece, ".")
    elseif c == "[" then
      local class, close = set_pattern(text, at)
      if not class then return nil, "'[' without ']' in '" .. text .. "'" end
      add_class(piece, class)
      at = close
    elseif c == "\\" then
      at = at + 1
      if at > #text then return nil, "'\\' at the end of '" .. text .. "'" end
      add_literal(piece, sub(text, at, at))
    else
      add_literal(piece, c)
    end
    at = at + 1
  end
  for _, piece in ipairs(pieces) do finish(piece) end
  if #pieces == 1 and pieces[1].plain then
    return { literal = pieces[1].text, text = text, folded = folded }
  end
  return { pieces = pieces, text = text, folded = folded }
end

local function piece_at(piece, s, at)
  if piece.plain then return sub(s, at, at + piece.length - 1) == piece.text end
  return #s - at + 1 >= piece.length and find(s, piece.start, at) == at
end

local function test_pieces(pieces, s)
  local first, last = pieces[1], pieces[#pieces]
  if not piece_at(first, s, 1) then return false end
  local at = first.length + 1
  if #pieces == 1 then return at == #s + 1 end
  for i = 2, #pieces - 1 do
    local from, to = find(s, pieces[i].text, at, pieces[i].plain)
    if not from then return false end
    at = to + 1
  end
  local start = #s - last.length + 1
  return start >= at and piece_at(last, s, start)
end

function glob.test(matcher, s)
  if matcher.folded then s = lower(s) end
  if matcher.literal then return matcher.literal == s end
  return test_pieces(matcher.pieces, s)
end

--- Parts of a path, `.` and `..` resolved by name only. Above the root stays at the root.
function glob.parts(path)
  local parts = {}
  for part in string.gmatch(path, "[^/]+") do
    if part == ".." then
      parts[#parts] = nil
    elseif part ~= "." then
      parts[#parts + 1] = part
    end
  end
  return parts
end

local function check_path(text)
  if text == "" then return "an empty path" end
  if sub(text, 1, 1) == "!" then
    return "'" .. text .. "': use except = \"" .. sub(text, 2) .. "\" instead of '!'"
  end
  if sub(text, 1, 1) == "~" then
    return "'" .. text .. "': the home directory is not known here, write the path"
  end
  for part in string.gmatch(text, "[^/]+") do
    if part == ".." then return "'" .. text .. "': '..' in a path glob never matches" end
    if part ~= "**" and find(part, "**", 1, true) then
      return "'" .. text .. "': '**' stands alone between slashes"
    end
  end
  return nil
end

-- `src/**` is what is in src, so at least one more part; the wide form takes src as well, which
-- then covers what is in it.
local function finish_path(path)
  local parts = path.parts
  local last = parts[#parts]
  path.covers = path.directory or last == nil or (last ~= "**" and last.literal ~= nil)
  path.wide = parts
  if last == "**" and #parts > 1 then
    path.wide = {}
    for i = 1, #parts - 1 do path.wide[i] = parts[i] end
    parts[#parts] = glob.token("*")
    parts[#parts + 1] = "**"
  end
end

--- Compiles a path glob -> matcher | nil, what is wrong
function glob.path(text)
  local wrong = check_path(text)
  if wrong then return nil, wrong end
  local body = string.gsub(text, "^%./", "")
  local path = { text = text, parts = {}, directory = find(body, "/$") ~= nil }
  local trimmed = string.gsub(body, "/+$", "")
  if byte(body) == 47 then
    path.from = "root"
  elseif find(text, "^%./") or trimmed == "."
    or (find(trimmed, "/", 1, true) and not find(trimmed, "^%*%*/")) then
    path.from = "workspace"
  else
    path.from = "anywhere"
    if trimmed ~= "**" and not find(trimmed, "^%*%*/") then path.parts[1] = "**" end
  end
  for part in string.gmatch(trimmed, "[^/]+") do
    if part == "**" then
      if path.parts[#path.parts] ~= "**" then path.parts[#path.parts + 1] = "**" end
    elseif part ~= "." then
      local matcher, problem = glob.token(part)
      if not matcher then return nil, problem end
      path.parts[#path.parts + 1] = matcher
    end
  end
  finish_path(path)
  return path
end

-- `open`: the glob may end before the path does. `**` takes parts until the rest fits; on failure
-- only the last `**` takes one more, as the earlier ones have done all they can.
local function test_parts(glob_parts, parts, open)
  local g, p = 1, 1
  local star, resume = nil, nil
  while true do
    local want = glob_parts[g]
    if want == nil and (open or p > #parts) then return true end
    if want == "**" then
      star, resume = g, p
      g = g + 1
      if g > #glob_parts then return true end
    elseif want ~= nil and p <= #parts and glob.test(want, parts[p]) then
      g, p = g + 1, p + 1
    elseif star and resume <= #parts then
      resume = resume + 1
      g, p = star + 1, resume
    else
      return false
    end
  end
end

--- Whether the glob holds for a path given as parts from the root and, inside the workspace, as
--- parts from there. `wide` is for answers that may only err on the strict side: a glob then also
--- covers what is below a match, the directory of a trailing `/**`, and paths outside of the
--- workspace when it may stand anywhere.
function glob.test_path(path, absolute, relative, wide)
  local parts = relative
  if path.from == "root" or (path.from == "anywhere" and wide and not relative) then
    parts = absolute
  end
  if not parts then return false end
  if path.exact then return test_parts(path.parts, parts, false) end
  if wide then return test_parts(path.wide, parts, true) end
  return test_parts(path.parts, parts, path.covers)
end

return glob
