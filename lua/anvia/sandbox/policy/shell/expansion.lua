-- SPDX-License-Identifier: MIT
--- The inside of ${...}, $((...)), [...] and $(...). Methods of the parser.

local lpeg = require("lpeg")
local tokens = require("anvia.sandbox.policy.shell.tokens")

local match = lpeg.match
local plain = tokens.plain

local expansion = {}

local ESCAPED_IN_BRACES = { ["$"] = true, ["`"] = true, ["\\"] = true, ['"'] = true, ["}"] = true }

--- Operators after which a word, not a pattern, stands.
local WORD_OPS = {
  ["-"] = true, ["="] = true, ["?"] = true, ["+"] = true,
  [":-"] = true, [":="] = true, [":?"] = true, [":+"] = true,
}

local PATTERN_OPS = {
  ["#"] = true, ["##"] = true, ["%"] = true, ["%%"] = true, ["/"] = true, ["//"] = true,
  ["/#"] = true, ["/%"] = true, ["^"] = true, ["^^"] = true, [","] = true, [",,"] = true,
}

local function add(parts, part)
  parts[#parts + 1] = part
end

--- Commands in parentheses: self.pos is at the opening one.
---@return anvia.sandbox.shell.List
function expansion:substitution()
  self:enter()
  self.pos = self.pos + 1
  local outer, sets, braces = self.pending, self.common.sets, self.brace_command
  -- What is set in a subshell stays there.
  self.pending, self.common.sets, self.brace_command = {}, {}, nil
  local list = self:list()
  if self.src:sub(self.pos, self.pos) ~= ")" then
    self:unexpected()
  end
  self.pos = self.pos + 1
  local open = self.pending
  self.pending, self.common.sets, self.brace_command = outer, sets, braces
  if #open > 0 then
    self.common.diverged = true
    if self.dialect.late_here_doc then
      for _, redirect in ipairs(open) do
        add(outer, redirect)
      end
    end
  end
  self:leave()
  return list
end

--- An arithmetic expression up to "))", or nil when the parentheses say that it is none.
---@return anvia.sandbox.shell.Part[]?
function expansion:arithmetic()
  local parts, depth, src = {}, 0, self.src
  self.common.evaluates = true
  while true do
    local text, stop = match(plain.arithmetic, src, self.pos)
    if text then
      add(parts, { t = "quo", s = text })
      self.pos = stop
    end
    local char = src:sub(self.pos, self.pos)
    if char == "$" then
      self:dollar(parts, true)
    elseif char == "`" then
      self:backtick(parts, true)
    elseif char == "" then
      return nil
    elseif char == ")" and depth == 0 then
      local after = match(tokens.joints, src, self.pos + 1)
      if src:sub(after, after) ~= ")" then
        return nil
      end
      self.pos = after + 1
      self:note_arithmetic(parts)
      return parts
    else
      if char == "(" then
        depth = depth + 1
      elseif char == ")" then
        depth = depth - 1
      elseif char == "'" or char == '"' or char == "\\" then
        self:problem("syntax", "quoting inside arithmetic is read differently by different shells")
      end
      add(parts, { t = "quo", s = char })
      self.pos = self.pos + 1
    end
  end
end

--- A subscript: self.pos is after the "["; ends after the matching "]".
---@return anvia.sandbox.shell.Part[]
function expansion:subscript()
  local parts, depth = {}, 0
  self.common.evaluates = true
  while true do
    local text, stop = match(plain.subscript, self.src, self.pos)
    if text then
      add(parts, { t = "quo", s = text })
      self.pos = stop
    end
    local char = self.src:sub(self.pos, self.pos)
    if char == "]" and depth == 0 then
      self.pos = self.pos + 1
      self:note_arithmetic(parts)
      return parts
    elseif char == "$" then
      self:dollar(parts, true)
    elseif char == "`" then
      self:backtick(parts, true)
    elseif char == "'" then
      self:single_quotes(parts)
    elseif char == '"' then
      self:double_quotes(parts)
    elseif char == "\\" then
      self:escape(parts)
    elseif char == "" then
      self:fail("a subscript is not closed")
    else
      depth = depth + (char == "[" and 1 or -1)
      add(parts, { t = "quo", s = char })
      self.pos = self.pos + 1
    end
  end
end

--- ${ command; } of ksh and bash 5.3.
local function command_in_braces(self, parts, quoted, start)
  self.common.diverged = true
  if self.src:sub(self.pos, self.pos) == "|" then
    self.pos = self.pos + 1
  end
  local outer = self.brace_command
  self.brace_command = true
  local list = self:list()
  self.brace_command = outer
  if self.src:sub(self.pos, self.pos) ~= "}" then
    self:unexpected()
  end
  self.pos = self.pos + 1
  add(parts, { t = "sub", list = list, q = quoted, here = true,
    text = self.src:sub(start, self.pos - 1) })
end

--- The parameter after "${": its name, or nil.
local function parameter(self)
  local name, stop = match(tokens.name, self.src, self.pos)
  if not name then
    name, stop = match(tokens.digits, self.src, self.pos)
  end
  if not name then
    name, stop = match(tokens.special, self.src, self.pos)
  end
  if name then
    self.pos = stop
    return tokens.unjoin(name)
  end
end

--- ${#name}: true when that is what stands here; then self.pos is after the name.
local function length_form(self)
  local at = self.pos
  if self.src:sub(at, at) ~= "#" then
    return false
  end
  self.pos = at + 1
  local name = parameter(self)
  local char = self.src:sub(self.pos, self.pos)
  if name and (char == "}" or char == "[") then
    return true, name
  end
  self.pos = at
  return false
end

--- The word or pattern after an operator, up to the closing brace.
function expansion:brace_word(quoted, op)
  local parts, src = {}, self.src
  -- A pattern is active inside double quotes too.
  local kind = quoted and not PATTERN_OPS[op] and "quo" or "lit"
  while true do
    local text, stop = match(plain.braces, src, self.pos)
    if text then
      add(parts, { t = kind, s = text })
      self.pos = stop
    end
    local char = src:sub(self.pos, self.pos)
    if char == "}" then
      self.pos = self.pos + 1
      return parts
    elseif char == "\\" then
      if quoted then
        self:quoted_escape(parts, ESCAPED_IN_BRACES)
      else
        self:escape(parts)
      end
    elseif char == '"' then
      self:double_quotes(parts)
    elseif char == "$" then
      self:dollar(parts, quoted)
    elseif char == "`" then
      self:backtick(parts, quoted)
    elseif char == "'" then
      self:brace_quote(parts, quoted, op)
    elseif char == "" then
      self:fail("a brace expansion is not closed")
    elseif not quoted and self:at_process() then
      self:process(parts)
    else
      add(parts, { t = kind, s = char })
      self.pos = self.pos + 1
    end
  end
end

--- A single quote inside ${...}. Inside double quotes the shells disagree about it.
function expansion:brace_quote(parts, quoted, op)
  if not quoted or not WORD_OPS[op] then
    return self:single_quotes(parts)
  end
  self.common.diverged = true
  self.common.quote_diverged = true
  add(parts, { t = "quo", s = "'" })
  if self.dialect.quote_in_braces then
    self:single_quotes(parts)
    add(parts, { t = "quo", s = "'" })
  else
    self.pos = self.pos + 1
  end
end

--- ${...}: self.pos is after the opening brace.
function expansion:braces(parts, quoted, start)
  local src = self.src
  self.pos = match(tokens.joints, src, self.pos)
  local char = src:sub(self.pos, self.pos)
  if self.dialect.brace_command and char:find("[ \t\n|]") then
    return command_in_braces(self, parts, quoted, start)
  end

  local part = { t = "var", q = quoted }
  part.length, part.name = length_form(self)
  if not part.name then
    if char == "!" and src:find("^[%w_@*#?$]", self.pos + 1) then
      self.pos = self.pos + 1
      part.indirect = true
      self.common.evaluates = true
    end
    part.name = parameter(self)
  end
  if part.name and src:sub(self.pos, self.pos) == "[" and self.dialect.arrays then
    self.common.diverged = true
    self.pos = self.pos + 1
    part.index = self:subscript()
  end
  self.pos = match(tokens.joints, src, self.pos)

  if part.name and src:sub(self.pos, self.pos) == "}" then
    self.pos = self.pos + 1
  else
    local op, stop = match(tokens.parameter_op, src, self.pos)
    if part.name and op and not part.length then
      self.pos = stop
      part.op = tokens.unjoin(op)
    else
      part.t = "bad"
      self:problem("syntax", "an expansion in braces is not understood")
    end
    if part.op == ":" then
      self.common.evaluates = true
    elseif part.op == "=" or part.op == ":=" then
      self:record(part.name, true)
    end
    part.word = self:brace_word(quoted, part.op)
  end
  part.text = src:sub(start, self.pos - 1)
  add(parts, part)
end

--- Remembers the names that an expression may set.
function expansion:note_arithmetic(parts)
  local sets = false
  for _, part in ipairs(parts) do
    if part.t == "quo" and part.s:find("[=+%-]") then
      sets = true
    elseif part.t ~= "quo" then
      sets = sets or part.t == "sub"
    end
  end
  if not sets then
    return
  end
  for _, part in ipairs(parts) do
    if part.t == "quo" then
      for name in part.s:gmatch("[%a_][%w_]*") do
        self:record(name, true)
      end
    end
  end
end

return expansion
