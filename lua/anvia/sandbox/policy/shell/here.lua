-- SPDX-License-Identifier: MIT
--- Here-documents. Methods of the parser.
---
--- The body of `<<END` begins after the next newline, whatever stands between. Several may be open on
--- one line; their bodies follow in order.

local lpeg = require("lpeg")
local tokens = require("anvia.sandbox.policy.shell.tokens")
local ast = require("anvia.sandbox.policy.shell.ast")

local match = lpeg.match

local here = {}

--- Reads the end word: self.pos is after the operator.
function here:here_document(redirect)
  local word = self:word()
  if not word then
    self:unexpected()
  end
  local text, quoted = ast.constant(word)
  if not text then
    self:problem("syntax", "the end word of a here-document holds an expansion")
    text = word.text
  end
  redirect.delimiter, redirect.quoted = text, quoted
  redirect.body = {} -- until the next newline
  self.pending[#self.pending + 1] = redirect
end

--- True when a line ends in a backslash that no other one protects.
local function goes_on(line)
  local at = #line
  while at > 0 and line:byte(at) == 92 do
    at = at - 1
  end
  return (#line - at) % 2 == 1
end

--- One line of a body, with what follows a backslash-newline when that joins lines.
---@return string? text, integer position, boolean joined
local function body_line(self, quoted)
  local src, pos = self.src, self.pos
  if pos > #src then
    return nil, pos, false
  end
  local line, stop = match(tokens.line, src, pos)
  if quoted or line:byte(-1) ~= 92 then
    return line, stop, false
  end
  local parts, joined = {}, false
  while true do
    if not goes_on(line) or stop > #src then
      parts[#parts + 1] = line
      return table.concat(parts), stop, joined
    end
    joined = true
    parts[#parts + 1] = line:sub(1, -2)
    line, stop = match(tokens.line, src, stop + 1)
  end
end

--- True when a line is the end of the document.
local function is_end(self, redirect, line, joined)
  if redirect.op == "<<-" then
    line = line:gsub("^\t+", "")
  end
  if line ~= redirect.delimiter then
    return false
  end
  if joined then
    self.common.diverged = true
    return self.dialect.joined_end == true
  end
  return true
end

--- Reads the body of one document; self.pos is at the start of its first line.
local function read_body(self, redirect)
  local first, stop = self.pos, nil
  local src = self.src
  while true do
    local line, after, joined = body_line(self, redirect.quoted)
    if not line then
      stop = self.pos
      self:problem("syntax", "a here-document without its end")
      break
    elseif is_end(self, redirect, line, joined) then
      stop = self.pos
      self.pos = math.min(after + 1, #src + 1)
      break
    end
    self.pos = math.min(after + 1, #src + 1)
  end
  local body = src:sub(first, stop - 1)
  if redirect.op == "<<-" then
    body = body:gsub("^\t+", ""):gsub("\n\t+", "\n")
  end
  return body
end

--- Parses the body for expansions, unless its end word was quoted.
local function parse_body(self, redirect, body)
  if redirect.quoted then
    redirect.body = { { t = "quo", s = body } }
    return
  end
  self:enter()
  local ok, parts = pcall(self.here_text, self:child(body))
  if not ok then
    if type(parts) ~= "table" or not parts.shell_error then
      error(parts, 0)
    end
    -- An expansion that does not end inside the body: some shells read on behind it.
    self:fail("an expansion in a here-document does not end inside it", parts.kind)
  end
  self:leave()
  redirect.body = parts
end

--- Consumes a newline and the bodies of the documents that wait for it.
function here:newline()
  self.pos = self.pos + 1
  local pending = self.pending
  if #pending == 0 then
    return
  end
  self.pending = {}
  for _, redirect in ipairs(pending) do
    parse_body(self, redirect, read_body(self, redirect))
  end
end

--- At the end of the text: documents that never began are empty.
function here:no_pending()
  if #self.pending > 0 then
    self:problem("syntax", "a here-document without its text")
    self.pending = {}
  end
end

return here
