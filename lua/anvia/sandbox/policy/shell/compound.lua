-- SPDX-License-Identifier: MIT
--- Compound commands and function definitions. Methods of the parser.

local lpeg = require("lpeg")
local tokens = require("anvia.sandbox.policy.shell.tokens")

local match = lpeg.match

local compound = {}

local readers = {}

--- Reserved words that only the larger shells have.
local LARGER = {
  ["[["] = true, ["select"] = true, ["coproc"] = true, ["function"] = true,
}

--- Reserved words that never begin a command.
local MISPLACED = {
  ["then"] = true, ["elif"] = true, ["else"] = true, ["fi"] = true, ["do"] = true,
  ["done"] = true, ["esac"] = true, ["}"] = true, ["!"] = true,
}

--- One command of any kind, with its redirections.
function compound:command()
  self:skip_blanks()
  local word, stop = self:keyword()
  local node
  if self.src:byte(self.pos) == 40 then
    self:enter()
    node = self:parentheses()
  elseif word and readers[word] and self:has_keyword(word) then
    self:enter()
    self.pos = stop
    node = readers[word](self)
  elseif word and MISPLACED[word] then
    self:unexpected()
  else
    return self:simple()
  end
  self:leave()
  if node.t ~= "function" and node.t ~= "simple" then
    self:redirects(node)
  end
  return node
end

function compound:has_keyword(word)
  if not LARGER[word] then
    return true
  end
  self.common.diverged = true
  if word == "function" then
    return self.dialect.function_word
  end
  return self.dialect.keywords
end

--- ( list ) or (( expression )).
function compound:parentheses()
  local open = self.pos
  local after = match(tokens.joints, self.src, open + 1)
  if self.dialect.keywords and self.src:sub(after, after) == "(" then
    self.pos = after + 1
    self.common.diverged = true
    local parts = self:arithmetic()
    if parts then
      return { t = "arithmetic", parts = parts }
    end
    self:second_try()
    self.pos = open
  end
  return { t = "subshell", list = self:substitution() }
end

readers["{"] = function(self)
  local list = self:list()
  self:expect("}")
  return { t = "group", list = list }
end

readers["if"] = function(self)
  local arms = {}
  repeat
    local condition = self:list()
    self:expect("then")
    arms[#arms + 1] = { condition = condition, list = self:list() }
    self:skip_newlines()
  until not self:accept("elif")
  if self:accept("else") then
    arms[#arms + 1] = { list = self:list() }
  end
  self:expect("fi")
  return { t = "if", arms = arms }
end

--- do list done, or { list } where bash allows it.
local function body(self)
  self:skip_newlines()
  if self.dialect.keywords and self:accept("{") then
    self.common.diverged = true
    local list = self:list()
    self:expect("}")
    return list
  end
  self:expect("do")
  local list = self:list()
  self:expect("done")
  return list
end

local function loop(self)
  local node, sets = self:collect(function()
    local condition = self:list()
    return { t = "loop", condition = condition, list = body(self) }
  end)
  node.assigned = sets
  return node
end

readers["while"] = loop
readers["until"] = loop

--- for ((a; b; c)): self.pos is after the parentheses.
local function counting_loop(self)
  local node, sets = self:collect(function()
    local parts = self:arithmetic()
    if not parts then
      self:unexpected()
    end
    self:skip_blanks()
    if self:control() == ";" then
      self.pos = self.pos + 1
    end
    return { t = "for", parts = parts, list = body(self) }
  end)
  node.assigned = sets
  return node
end

--- The words after "in", up to the separator.
local function for_words(self)
  local words = {}
  while true do
    self:skip_blanks()
    local word = self:word()
    if not word then
      break
    end
    words[#words + 1] = word
  end
  local op, stop = self:control()
  if op == ";" then
    self.pos = stop
  elseif self.src:byte(self.pos) ~= 10 then
    self:unexpected()
  end
  return words
end

local function for_loop(self, select)
  self:skip_blanks()
  local after = match(tokens.joints, self.src, self.pos + 1)
  if self.dialect.keywords and self.src:sub(self.pos, self.pos) == "("
    and self.src:sub(after, after) == "(" then
    self.common.diverged = true
    self.pos = after + 1
    return counting_loop(self)
  end

  local name, stop = self:keyword()
  if not name or not name:find("^[%a_][%w_]*$") then
    self:unexpected()
  end
  self.pos = stop
  self:skip_newlines()
  local words
  if self:accept("in") then
    words = for_words(self)
  else
    local op, past = self:control()
    if op == ";" then
      self.pos = past
    end
  end
  local list, sets = self:collect(body)
  self:record(name, true)
  return { t = "for", name = name, words = words, list = list, assigned = sets, select = select }
end

readers["for"] = function(self)
  return for_loop(self, false)
end

readers["select"] = function(self)
  return for_loop(self, true)
end

--- The patterns of one arm, up to ")".
local function patterns(self)
  local words = {}
  if self.src:sub(self.pos, self.pos) == "(" then
    self.pos = self.pos + 1
  end
  while true do
    self:skip_blanks()
    local word = self:word()
    if not word then
      self:unexpected()
    end
    words[#words + 1] = word
    self:skip_blanks()
    local op, stop = self:control()
    if op ~= ")" and op ~= "|" then
      self:unexpected()
    end
    self.pos = stop
    if op == ")" then
      return words
    end
  end
end

readers["case"] = function(self)
  self:skip_blanks()
  local node = { t = "case", word = self:word(), arms = {} }
  if not node.word then
    self:unexpected()
  end
  self:expect("in")
  while true do
    self:skip_newlines()
    if self:accept("esac") then
      return node
    end
    local arm = { patterns = patterns(self) }
    arm.list = self:list()
    node.arms[#node.arms + 1] = arm
    self:skip_newlines()
    local op, stop = self:control()
    if op == ";;" or op == ";&" or op == ";;&" then
      if op ~= ";;" then
        self.common.diverged = true
        node.falls = true
      end
      self.pos = stop
    elseif not self:accept("esac") then
      self:unexpected()
    else
      return node
    end
  end
end

--- [[ expression ]]: only the words in it matter here.
readers["[["] = function(self)
  local words = {}
  self.common.evaluates = true
  while true do
    self:skip_newlines()
    local char = self.src:sub(self.pos, self.pos)
    if self:accept("]]") then
      return { t = "test", words = words }
    elseif char == "" then
      self:fail("[[ is not closed")
    end
    local word = self:word()
    if word then
      words[#words + 1] = word
    else
      self.pos = self.pos + 1
    end
  end
end

readers["coproc"] = function(self)
  self:record("COPROC", true)
  self:skip_blanks()
  local start = self.pos
  local name, stop = self:keyword()
  if name and name:find("^[%a_][%w_]*$") and not readers[name] then
    self.pos = stop
    self:skip_blanks()
    local next_word = self:keyword()
    if self.src:sub(self.pos, self.pos) == "(" or (next_word and readers[next_word]) then
      self:record(name, true)
    else
      self.pos = start
    end
  end
  return { t = "coproc", body = self:command() }
end

readers["function"] = function(self)
  self:skip_blanks()
  local name, stop = self:keyword()
  if not name then
    self:unexpected()
  end
  self.pos = stop
  self:skip_blanks()
  if self.src:sub(self.pos, self.pos) == "(" then
    return self:function_definition(name)
  end
  return self:function_body(name)
end

--- NAME ( ) body: self.pos is at the parenthesis.
function compound:function_definition(name)
  self.pos = match(tokens.blanks, self.src, self.pos + 1)
  if self.src:sub(self.pos, self.pos) ~= ")" then
    self:unexpected()
  end
  self.pos = self.pos + 1
  return self:function_body(name)
end

function compound:function_body(name)
  self:skip_newlines()
  self:enter()
  local common = self.common
  local node, sets = self:collect(self.command)
  for variable in pairs(sets) do
    common.in_functions[variable] = true
  end
  self:leave()
  if node.t == "simple" then
    common.diverged = true
  end
  local bodies = common.functions[name] or {}
  common.functions[name] = bodies
  bodies[#bodies + 1] = node
  return { t = "function", name = name, body = node }
end

return compound
