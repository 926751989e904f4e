-- SPDX-License-Identifier: MIT
--- Simple commands: assignments, words, redirections. Methods of the parser.

local lpeg = require("lpeg")
local tokens = require("anvia.sandbox.policy.shell.tokens")
local ast = require("anvia.sandbox.policy.shell.ast")

local match = lpeg.match

local simple = {}

--- Commands that set the variables named by their arguments.
local SETTERS = {
  read = true, printf = true, getopts = true, mapfile = true, readarray = true, unset = true,
  let = true, wait = true, ["local"] = true, declare = true, typeset = true, export = true,
  readonly = true, nameref = true, integer = true, float = true, vared = true,
}

--- Commands that evaluate a text, or arithmetic in a text.
local EVALUATES = {
  let = true, declare = true, typeset = true, ["local"] = true, printf = true, unset = true,
  read = true, test = true, ["["] = true, mapfile = true, readarray = true, export = true,
  readonly = true, wait = true,
}

--- Begins a token that may be a redirection.
local function may_redirect(byte)
  return byte == 60 or byte == 62 or byte == 38 or byte == 123
    or (byte ~= nil and byte >= 48 and byte <= 57)
end

--- Reads one redirection into node.redirects. False when there is none here.
function simple:redirect(node)
  if not may_redirect(self.src:byte(self.pos)) then
    return false
  end
  local fd, op, stop = match(self.ops.redirect, self.src, self.pos)
  if not fd then
    return false
  end
  if #fd > 1 or op == "&>" or op == "&>>" or op == "<<<" then
    self.common.diverged = true
    if fd:find("^[%a_]") then
      self:record(fd, true)
    end
  end
  self.pos = match(tokens.blanks, self.src, stop)
  local redirect = { op = op, fd = tokens.unjoin(fd) }
  if op == "<<" or op == "<<-" then
    self:here_document(redirect)
  else
    redirect.word = self:word()
    if not redirect.word then
      self:unexpected()
    end
  end
  -- Only whole ones: after an error, what was read of a command is still looked at.
  node.redirects = node.redirects or {}
  node.redirects[#node.redirects + 1] = redirect
  return true
end

--- All redirections after a compound command.
function simple:redirects(node)
  self:skip_blanks()
  while self:redirect(node) do
    self:skip_blanks()
  end
end

--- The elements of a=(...): self.pos is after the parenthesis.
local function array(self)
  local words = {}
  self:enter()
  while true do
    self:skip_newlines()
    if self.src:sub(self.pos, self.pos) == ")" then
      self.pos = self.pos + 1
      self:leave()
      return words
    end
    local word = self:word()
    if not word then
      self:unexpected()
    end
    words[#words + 1] = word
  end
end

--- Reads NAME=value into node.assigns. False when there is none here.
function simple:assignment(node)
  local name, kind, stop = match(tokens.assignment, self.src, self.pos)
  if not name then
    return false
  end
  local start, assign = self.pos, { name = tokens.unjoin(name) }
  if kind == "[" then
    if not self.dialect.arrays then
      return false
    end
    self.pos = stop
    assign.index = self:subscript()
    kind, stop = self.src:match("^(%+?=)()", self.pos)
    if not kind then
      self.pos = start
      self:second_try()
      return false
    end
    self.common.diverged = true
  end
  if kind ~= "=" then
    if not self.dialect.arrays then
      return false
    end
    assign.append = true
    self.common.diverged = true
  end
  self.pos = stop
  if self.dialect.arrays and self.src:sub(stop, stop) == "(" then
    self.common.diverged = true
    self.pos = stop + 1
    assign.array = array(self)
    self:record(assign.name, true)
  else
    assign.word = self:word() or { literal = "", text = "" }
    local value = ast.constant(assign.word)
    if assign.append or assign.index or not value or value:find("~", 1, true) then
      value = true
    end
    self:record(assign.name, value)
  end
  node.assigns[#node.assigns + 1] = assign
  return true
end

--- Remembers the variables that a command with these words may set.
local function record_words(self, words)
  local first = words[1] and ast.constant(words[1])
  if not first then
    -- What it is shows when the tree is walked, see readings/simple.lua.
    return
  end
  if first == "command" or first == "builtin" then
    first = words[2] and ast.constant(words[2])
  end
  if not first or first == "eval" or first == "." or first == "source" then
    return self:record("*", true)
  elseif first == "set" or first == "shift" then
    return self:record("@", true)
  elseif first == "cd" or first == "pushd" or first == "popd" or first == "chdir" then
    self:record("/cwd", true)
    return
  elseif first == "exec" then
    return self:record("<exec", true)
  elseif first == "trap" then
    local action = words[2] and ast.constant(words[2])
    local ifs = self.common.sets_ifs or not action or action:find("FS", 1, true) ~= nil
    self:record("*", true)
    self.common.sets_ifs = ifs
    return
  end
  if EVALUATES[first] then
    self.common.evaluates = true
  end
  if not SETTERS[first] then
    return
  end
  for i = 2, #words do
    local text = ast.constant(words[i]) or words[i].text
    local name = text:match("^([%a_][%w_]*)")
    if name then
      self:record(name, true)
    elseif words[i].dynamic then
      self:record("*", true)
    end
  end
end

--- The elements in `declare a=(1 2)`.
function simple:declared_array(words)
  local word = words[#words]
  if #words > 1 and self.dialect.arrays and self.src:byte(self.pos) == 40 and word.literal
    and word.literal:find("^[%a_][%w_]*%+?=$") and SETTERS[words[1].literal] then
    self.common.diverged = true
    self.pos = self.pos + 1
    word.array = array(self)
  end
end

--- `[[` of ash is a command, but && and || are words of it.
local function test_operator(self, words)
  if not self.dialect.test_words or not words[1] or words[1].literal ~= "[[" then
    return false
  end
  local last = words[#words]
  local op, stop = self:control()
  if last.literal == "]]" or (op ~= "&&" and op ~= "||") then
    return false
  end
  self.pos = stop
  words[#words + 1] = { literal = op == "&&" and "-a" or "-o", text = op }
  return true
end

--- NAME ( ) body, when self.pos is at the parenthesis.
local function is_function(self, node)
  return #node.words == 1 and #node.assigns == 0 and not node.redirects
    and node.words[1].literal ~= nil and self.src:sub(self.pos, self.pos) == "("
end

function simple:simple()
  local node = { t = "simple", assigns = {}, words = {} }
  local simples, words = self.common.simples, node.words
  simples[#simples + 1] = node
  while true do
    self:skip_blanks()
    local byte = self.src:byte(self.pos)
    if not byte or byte == 10 or byte == 59 or byte == 41 then
      break
    elseif not self:redirect(node) and (#words > 0 or not self:assignment(node)) then
      local word = self:word()
      if word then
        words[#words + 1] = word
        self:declared_array(words)
      elseif is_function(self, node) then
        simples[#simples] = nil
        return self:function_definition(words[1].literal)
      elseif not test_operator(self, words) then
        break
      end
    end
  end
  if #words == 0 and #node.assigns == 0 and not node.redirects then
    self:unexpected()
  end
  record_words(self, words)
  return node
end

return simple
