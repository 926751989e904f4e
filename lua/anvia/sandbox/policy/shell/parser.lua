-- SPDX-License-Identifier: MIT
--- Reads shell text into the tree of ast.lua.
---
--- Recursive descent over LPeg tokens, one pass, no backtracking except where the shells themselves
--- try twice (counted, see second_try). A parser object reads one text; the text inside backticks and
--- here-documents gets a child that shares `common`.

local lpeg = require("lpeg")
local tokens = require("anvia.sandbox.policy.shell.tokens")

local match = lpeg.match

local MAX_DEPTH = 60
local MAX_SECOND_TRIES = 8

local parser = {}
parser.__index = parser

for _, part in ipairs({ "word", "expansion", "here", "simple", "compound" }) do
  for name, method in pairs(require("anvia.sandbox.policy.shell." .. part)) do
    parser[name] = method
  end
end

--- Words that end a list when they stand where a command may begin.
local ENDS = {
  ["then"] = true, ["elif"] = true, ["else"] = true, ["fi"] = true, ["do"] = true,
  ["done"] = true, ["esac"] = true, ["}"] = true,
}

local operators = setmetatable({}, { __mode = "k" })

local function operators_of(dialect)
  local found = operators[dialect]
  if not found then
    found = tokens.operators(dialect)
    operators[dialect] = found
  end
  return found
end

---@param text string
---@param dialect anvia.sandbox.Dialect
function parser.new(text, dialect)
  return setmetatable({
    src = text,
    pos = 1,
    dialect = dialect,
    ops = operators_of(dialect),
    pending = {},
    common = {
      depth = 0,
      tries = 0,
      problems = {},
      functions = {},
      sets = {},
      in_functions = {},
      simples = {},
      diverged = false,
      quote_diverged = false,
      evaluates = false,
      sets_ifs = false,
    },
    extended = false,
  }, parser)
end

--- A parser for text inside this text.
function parser:child(text)
  return setmetatable({
    src = text,
    pos = 1,
    dialect = self.dialect,
    ops = self.ops,
    pending = {},
    common = self.common,
    extended = self.extended,
  }, parser)
end

--- Some text around a position, for people.
function parser:around(pos)
  local from = math.max(1, math.min(pos, #self.src) - 8)
  return self.src:sub(from, from + 31)
end

function parser:problem(kind, what)
  local list = self.common.problems
  if #list < 8 then
    list[#list + 1] = { kind = kind, what = what, where = self:around(self.pos) }
  end
end

--- Gives up this text. The message goes through error() to the root.
function parser:fail(what, kind)
  error({ shell_error = true, kind = kind or "syntax", what = what,
    where = self:around(self.pos) }, 0)
end

function parser:unexpected()
  local char = self.src:sub(self.pos, self.pos)
  if char == "" then
    self:fail("the script ends too early")
  end
  self:fail(("unexpected %q"):format(self:keyword() or char))
end

function parser:enter()
  local common = self.common
  common.depth = common.depth + 1
  if common.depth > MAX_DEPTH then
    self:fail("nested too deep", "bound")
  end
end

function parser:leave()
  self.common.depth = self.common.depth - 1
end

--- Counts a second reading of the same text, so that nesting them stays cheap.
function parser:second_try()
  local common = self.common
  common.diverged = true
  common.tries = common.tries + 1
  if common.tries > MAX_SECOND_TRIES then
    self:fail("too many constructs that can be read in two ways", "bound")
  end
end

--- Notes that a variable is set: to a text, or to something not known (true).
--- The name "*" is any variable.
function parser:record(name, value)
  local sets = self.common.sets
  local known = sets[name]
  if name == "IFS" or name == "*" then
    self.common.sets_ifs = true
  end
  if value == true or known == true then
    sets[name] = true
  elseif not known then
    sets[name] = { value }
  elseif #known < 8 then
    known[#known + 1] = value
  else
    sets[name] = true
  end
end

--- Collects what `read` records in a table of its own; the table around it gets everything too.
function parser:collect(read, ...)
  local outer, inner = self.common.sets, {}
  self.common.sets = inner
  local node = read(self, ...)
  self.common.sets = outer
  for name, values in pairs(inner) do
    if values == true then
      self:record(name, true)
    else
      for _, value in ipairs(values) do
        self:record(name, value)
      end
    end
  end
  return node, inner
end

--- Skips blanks and a comment: self.pos is then at a token, a newline or the end.
function parser:skip_blanks()
  local pos = match(tokens.blanks, self.src, self.pos)
  if self.src:byte(pos) == 35 then
    pos = match(tokens.comment, self.src, pos)
  end
  self.pos = pos
end

--- Skips blanks, comments and newlines; reads the here-documents that begin at a newline.
function parser:skip_newlines()
  self:skip_blanks()
  while self.src:byte(self.pos) == 10 do
    self:newline()
    self:skip_blanks()
  end
end

--- The word at self.pos when it has no quoting and no expansion, and the position after it.
function parser:keyword()
  local text, stop = match(tokens.keyword, self.src, self.pos)
  if text then
    return tokens.unjoin(text), stop
  end
end

--- Consumes one reserved word.
function parser:accept(word)
  local text, stop = self:keyword()
  if text == word then
    self.pos = stop
    return true
  end
  return false
end

function parser:expect(word)
  self:skip_newlines()
  if not self:accept(word) then
    self:unexpected()
  end
end

--- The control operator at self.pos and the position after it.
function parser:control()
  return match(self.ops.control, self.src, self.pos)
end

--- True where a list cannot go on. self.pos is where a command may begin.
function parser:at_end()
  local char = self.src:sub(self.pos, self.pos)
  if char == "" or char == ")" then
    return true
  elseif char == "}" and self.brace_command then
    return true
  elseif char == ";" then
    local op = self:control()
    return op ~= ";"
  end
  local word = self:keyword()
  return word ~= nil and ENDS[word] == true
end

--- Commands separated by newlines, ";" and "&", up to something that ends them.
---@return anvia.sandbox.shell.List
function parser:list()
  local list = { t = "list", items = {} }
  while self:item(list) do end -- luacheck: ignore 542
  return list
end

--- One and-or list with its separator. False at the end.
function parser:item(list)
  self:skip_newlines()
  if self:at_end() then
    return false
  end
  local item = { node = self:and_or() }
  list.items[#list.items + 1] = item
  self:skip_blanks()
  local op, stop = self:control()
  if op == ";" then
    self.pos = stop
  elseif op == "&" then
    item.background = true
    self.pos = stop
  elseif self.src:byte(self.pos) ~= 10 and not self:at_end() then
    self:unexpected()
  end
  return true
end

function parser:and_or()
  local node = self:pipeline()
  local op, stop = self:control()
  if op ~= "&&" and op ~= "||" then
    return node
  end
  local items = { { node = node } }
  while op == "&&" or op == "||" do
    self.pos = stop
    self:skip_newlines()
    items[#items + 1] = { op = op, node = self:pipeline() }
    op, stop = self:control()
  end
  return { t = "and_or", items = items }
end

--- Leaves self.pos at a token after the pipeline.
function parser:pipeline()
  self:skip_blanks()
  local negated = false
  while true do
    local word, after = self:keyword()
    if word == "!" then
      negated = true
    elseif word == "time" and self.dialect.keywords then
      self.common.diverged = true
      self.pos = after
      self:skip_blanks()
      word, after = self:keyword()
      if word ~= "-p" and word ~= "--" then
        after = self.pos
      end
    elseif not negated or word ~= "--" then
      break
    end
    self.pos = after
    self:skip_blanks()
  end

  local node = self:command()
  self:skip_blanks()
  local op, stop = self:control()
  if op ~= "|" and op ~= "|&" then
    return node
  end
  local stages = { node }
  while op == "|" or op == "|&" do
    self.common.diverged = self.common.diverged or op == "|&"
    self.pos = stop
    self:skip_newlines()
    stages[#stages + 1] = self:command()
    self:skip_blanks()
    op, stop = self:control()
  end
  return { t = "pipeline", stages = stages }
end

--- The whole text of a child.
function parser:whole()
  local list = self:list()
  if self.pos <= #self.src then
    self:unexpected()
  end
  self:no_pending()
  return list
end

return parser
