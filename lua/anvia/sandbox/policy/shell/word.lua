-- SPDX-License-Identifier: MIT
--- Words: quoting and expansions. Methods of the parser.

local lpeg = require("lpeg")
local tokens = require("anvia.sandbox.policy.shell.tokens")
local ansi = require("anvia.sandbox.policy.shell.ansi")

local match = lpeg.match
local plain = tokens.plain

local word = {}

local ESCAPED_IN_QUOTES = { ["$"] = true, ["`"] = true, ["\\"] = true, ['"'] = true }
local ESCAPED_IN_HERE = { ["$"] = true, ["`"] = true, ["\\"] = true }

local function add(parts, part)
  parts[#parts + 1] = part
end

--- A backslash outside quotes. At the end of the text it stands for itself.
function word:escape(parts)
  local char = self.src:sub(self.pos + 1, self.pos + 1)
  self.pos = self.pos + 2
  if char == "" then
    add(parts, { t = "quo", s = "\\" })
  elseif char ~= "\n" then
    add(parts, { t = "quo", s = char })
  end
end

--- A backslash inside double quotes or a here-document.
function word:quoted_escape(parts, escaped)
  local char = self.src:sub(self.pos + 1, self.pos + 1)
  if char == "\n" then
    self.pos = self.pos + 2
  elseif escaped[char] then
    add(parts, { t = "quo", s = char })
    self.pos = self.pos + 2
  else
    add(parts, { t = "quo", s = "\\" })
    self.pos = self.pos + 1
  end
end

function word:single_quotes(parts)
  local text, stop = match(tokens.single, self.src, self.pos)
  if not text then
    self:fail("a single quote is not closed")
  end
  add(parts, { t = "quo", s = text })
  self.pos = stop
end

--- `"...": self.pos is at the opening quote. The parts inside get q = true.
function word:double_quotes(parts)
  self.pos = self.pos + 1
  local before = #parts
  while true do
    local text, stop = match(plain.quoted, self.src, self.pos)
    if text then
      add(parts, { t = "quo", s = text })
      self.pos = stop
    end
    local char = self.src:sub(self.pos, self.pos)
    if char == '"' then
      self.pos = self.pos + 1
      if #parts == before then
        -- An empty word. (But "$@" may be no word at all.)
        add(parts, { t = "quo", s = "" })
      end
      return
    elseif char == "\\" then
      self:quoted_escape(parts, ESCAPED_IN_QUOTES)
    elseif char == "$" then
      self:dollar(parts, true)
    elseif char == "`" then
      self:backtick(parts, true)
    else
      self:fail("a double quote is not closed")
    end
  end
end

--- The whole text of a here-document whose end word was not quoted.
function word:here_text()
  local parts = {}
  while true do
    local text, stop = match(plain.here, self.src, self.pos)
    if text then
      add(parts, { t = "quo", s = text })
      self.pos = stop
    end
    local char = self.src:sub(self.pos, self.pos)
    if char == "" then
      return parts
    elseif char == "\\" then
      self:quoted_escape(parts, ESCAPED_IN_HERE)
    elseif char == "$" then
      self:dollar(parts, true)
    else
      self:backtick(parts, true)
    end
  end
end

--- Old-style substitution: ends at the first backtick that no backslash protects. The text inside
--- loses one layer of backslashes before it is read.
function word:backtick(parts, quoted)
  local text, stop = match(tokens.backtick, self.src, self.pos)
  if not text then
    self:fail("a backtick is not closed")
  end
  local start = self.pos
  self.pos = stop
  local inner = text:gsub("\\(.)", function(char)
    if char == "$" or char == "`" or char == "\\" or (quoted and char == '"') then
      return char
    end
  end)
  self:enter()
  local list = self:child(inner):whole()
  self:leave()
  add(parts, { t = "sub", list = list, q = quoted, text = self.src:sub(start, stop - 1) })
end

--- What follows a dollar sign.
function word:dollar(parts, quoted)
  local src, start = self.src, self.pos
  local after = match(tokens.joints, src, start + 1)
  local char = src:sub(after, after)

  if char == "(" then
    self.pos = after
    return self:parenthesis(parts, quoted, start)
  elseif char == "{" then
    self.pos = after + 1
    self:enter()
    self:braces(parts, quoted, start)
    return self:leave()
  elseif char == "[" and self.dialect.dollar_bracket then
    self.common.diverged = true
    self.pos = after + 1
    local inner = self:subscript()
    return add(parts, { t = "arith", parts = inner, q = quoted, text = src:sub(start, self.pos - 1) })
  elseif not quoted and (char == "'" and self.dialect.dollar_quote) then
    self.common.diverged = true
    local text, stop = match(tokens.ansi, src, after)
    if not text then
      self:fail("a $' quote is not closed")
    end
    self.pos = stop
    text = ansi.decode(text, self.dialect.small_escapes)
    return add(parts, { t = "quo", s = text })
  elseif not quoted and char == '"' and self.dialect.dollar_dquote then
    self.common.diverged = true
    self.pos = after
    return self:double_quotes(parts)
  end

  local name, stop = match(tokens.name, src, after)
  if not name then
    name, stop = match(tokens.special, src, after)
  end
  if not name and char:find("^%d") then
    name, stop = char, after + 1
  end
  if not name then
    self.pos = start + 1
    return add(parts, { t = quoted and "quo" or "lit", s = "$" })
  end
  self.pos = stop
  add(parts, { t = "var", name = tokens.unjoin(name), q = quoted, text = src:sub(start, stop - 1) })
end

--- $( or $((: self.pos is at the parenthesis.
function word:parenthesis(parts, quoted, start)
  local src, open = self.src, self.pos
  local after = match(tokens.joints, src, open + 1)
  if src:sub(after, after) == "(" then
    self.pos = after + 1
    local inner = self:arithmetic()
    if inner then
      return add(parts, { t = "arith", parts = inner, q = quoted, text = src:sub(start, self.pos - 1) })
    end
    if not self.dialect.keywords then
      self:fail("arithmetic is not closed")
    end
    self:second_try()
    self.pos = open
  end
  local list = self:substitution()
  add(parts, { t = "sub", list = list, q = quoted, text = src:sub(start, self.pos - 1) })
end

--- <( or >(
function word:process(parts)
  local start = self.pos
  local dir = self.src:sub(start, start)
  self.pos = match(tokens.joints, self.src, start + 1)
  self.common.diverged = true
  local list = self:substitution()
  add(parts, { t = "proc", dir = dir, list = list, text = self.src:sub(start, self.pos - 1) })
end

--- True at a "<" or ">" that begins a process substitution.
function word:at_process()
  if not self.dialect.substitution then
    return false
  end
  local after = match(tokens.joints, self.src, self.pos + 1)
  return self.src:sub(after, after) == "("
end

--- One shell word at self.pos, or nil when a metacharacter stands there.
---@return anvia.sandbox.shell.Word?
function word:word()
  local src, start = self.src, self.pos
  local text, stop = match(plain.word, src, start)
  local char
  if text then
    char = src:sub(stop, stop)
    if char == "" or char == " " or char == "\n" or char == "\t" or char == ";" or char == ")"
      or char == "|" or char == "&" then
      self.pos = stop
      if text:find("{", 1, true) and #text > 2 then
        self.common.diverged = true
      end
      return { literal = text, text = text }
    end
  end
  local parts = {}
  while true do
    if text then
      add(parts, { t = "lit", s = text })
      self.pos = stop
      if text:find("{", 1, true) then
        self.common.diverged = true
      end
    end
    char = src:sub(self.pos, self.pos)
    if char == "\\" then
      self:escape(parts)
    elseif char == "'" then
      self:single_quotes(parts)
    elseif char == '"' then
      self:double_quotes(parts)
    elseif char == "$" then
      self:dollar(parts, false)
    elseif char == "`" then
      self:backtick(parts, false)
    elseif (char == "<" or char == ">") and self:at_process() then
      self:process(parts)
    elseif char == "(" and self:at_pattern(parts) then
      self:pattern(parts)
    else
      break
    end
    text, stop = match(plain.word, src, self.pos)
  end
  if self.pos == start then
    return nil
  end
  return self:finish_word(parts, src:sub(start, self.pos - 1))
end

--- Makes a word of its parts.
function word:finish_word(parts, text) -- luacheck: ignore 212
  local dynamic, only_plain = false, true
  for _, part in ipairs(parts) do
    if part.t ~= "lit" then
      only_plain = false
      dynamic = dynamic or part.t ~= "quo"
    end
  end
  if only_plain and #parts > 0 then
    local out = {}
    for i, part in ipairs(parts) do
      out[i] = part.s
    end
    return { literal = table.concat(out), text = text }
  end
  return { parts = parts, dynamic = dynamic, text = text }
end

--- An extended pattern like @(a|b), where they are switched on.
function word:at_pattern(parts)
  local last = parts[#parts]
  return self.extended and last and last.t == "lit" and last.s:find("[?*+@!]$") ~= nil
end

function word:pattern(parts)
  self:enter()
  self.pos = self.pos + 1
  add(parts, { t = "bad", text = "(" })
  while true do
    local char = self.src:sub(self.pos, self.pos)
    if char == ")" then
      self.pos = self.pos + 1
      return self:leave()
    elseif char == "" then
      self:fail("a pattern is not closed")
    elseif char:find("[ \t\n|&;<>(]") then
      self.pos = self.pos + 1
    else
      local inner = self:word()
      for _, part in ipairs(inner.parts or {}) do
        add(parts, part)
      end
    end
  end
end

return word
