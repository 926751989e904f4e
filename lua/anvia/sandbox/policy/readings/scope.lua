-- SPDX-License-Identifier: MIT
--- One script while it is being read: its variables, functions and aliases, and what it has set.

local state = require("anvia.sandbox.policy.shell.state")
local shell = require("anvia.sandbox.policy.shell")
local walk = require("anvia.sandbox.policy.readings.walk")
local output = require("anvia.sandbox.policy.readings.output")
local variables = require("anvia.sandbox.policy.readings.variables")

local MAX_VARIABLES = 512
local MAX_FUNCTION_VARIABLES = 32

local scope = {}
scope.__index = scope

--- What is known of a variable when a script begins.
local function initial(reader, at)
  return function(name)
    local first = name:sub(1, 2)
    if first == "f:" or first == "a:" or first == "<e" then
      return state.UNSET
    elseif name == "/cwd" or name == "@" or name == "0" then
      return state.DYNAMIC
    end
    local value = at.env[name]
    if type(value) == "string" then
      return { value }
    elseif value then
      return state.DYNAMIC
    elseif at.unset and (at.unset["*"] or at.unset[name]) and at.vars[name] == nil then
      return state.UNSET
    elseif type(at.vars[name]) == "string" then
      return { at.vars[name], dynamic = true }
    elseif at.vars[name] == nil and reader.env[name] then
      return { reader.env[name] }
    end
    return state.DYNAMIC
  end
end

---@param reader table
---@param parsed anvia.sandbox.shell.Script
---@param spoken anvia.sandbox.Dialect
---@param at anvia.sandbox.readings.Site
---@param opts table  see readings/scripts.lua
function scope.new(reader, parsed, spoken, at, opts)
  local zero = opts.zero
  local values = {
    IFS = { " \t\n" },
    ["/cwd"] = at.cwds,
    ["@"] = opts.params and { { words = opts.params } } or state.DYNAMIC,
    ["0"] = type(zero) == "string" and { zero } or state.DYNAMIC,
  }
  local self = setmetatable({
    reader = reader,
    dialect = spoken,
    state = state.new(values, initial(reader, at)),
    functions = {},
    in_functions = {},
    called = {},
    vars = {},
    set_count = 0,
    from_stdin = opts.from_stdin or false,
    inlined = 0,
    aliased = false,
    alias_texts = {},
    parsed = parsed,
    at = reader.inside(at, nil, { external = true }),
  }, scope)
  for name, value in pairs(at.vars) do
    self.vars[name] = value
  end
  self.ex = {
    state = self.state,
    dialect = spoken,
    holes = opts.holes,
    spend = function(size)
      return reader:spend(size)
    end,
    substitute = function(list)
      local text = output.of(self, list)
      return text and not text:find("%z") and (text:gsub("\n+$", ""))
    end,
  }
  self:adopt(parsed)
  return self
end

--- Text that is evaluated in arithmetic runs the substitutions in its subscripts.
local function is_trap(word)
  if type(word) ~= "string" then
    return false
  end
  local bracket = word:find("[", 1, true)
  return bracket and (word:find("$(", bracket, true) or word:find("`", bracket, true))
end

--- Takes over the functions of a text that is part of this script.
function scope:adopt(parsed)
  for name, bodies in pairs(parsed.functions) do
    local known = self.functions[name] or {}
    self.functions[name] = known
    for _, body in ipairs(bodies) do
      known[#known + 1] = body
    end
  end
  for name in pairs(parsed.in_functions) do
    self.in_functions[name] = true
  end
  self.ex.sets_ifs = self.ex.sets_ifs or parsed.sets_ifs
  if parsed.evaluates and self.dialect.arrays_run then
    self.ex.seen = function(word)
      if is_trap(word) then
        self.reader:problem("syntax", "a text with a substitution in a subscript", word)
        variables.substitutions(self.reader, word, self.reader.inside(self.at, "subscript"))
      end
    end
  end
end

--- What functions set is not known any more.
function scope:forget_functions()
  local st, count = self.state, 0
  for _ in pairs(self.in_functions) do
    count = count + 1
    if count > MAX_FUNCTION_VARIABLES then
      return st:set("*", state.DYNAMIC)
    end
  end
  for name in pairs(self.in_functions) do
    st:widen(name, state.DYNAMIC)
  end
end

--- Sets a variable, for what follows and for the commands that get it.
function scope:assign(name, set)
  self.state:set(name, set)
  if name == "BASH_ARGV0" then
    self.state:set("0", set)
  end
  local value = state.single(set)
  value = type(value) == "string" and value or true
  local known = self.vars[name]
  if known == nil then
    self.set_count = self.set_count + 1
    if self.set_count > MAX_VARIABLES then
      self.reader:problem("bound", "too many variables")
      return
    end
  end
  self.vars[name] = (known == nil or known == value) and value or true
end

--- The same for a value that is assigned in the script text: some variables hold commands.
function scope:assign_at(name, set, at)
  self:assign(name, set)
  for _, value in ipairs(set) do
    if type(value) == "string" then
      variables.run(self.reader, name, value, at)
    end
  end
  if set.dynamic then
    variables.run(self.reader, name, true, at)
  end
end

--- Parses text that runs inside this script.
local function parse(self, text, known, at)
  local reader = self.reader
  if not reader:enter(text, known, at) then
    return nil
  end
  local parsed = shell.parse(text, self.dialect)
  for _, problem in ipairs(parsed.problems) do
    reader:problem(problem.kind, problem.what, problem.where)
  end
  self:adopt(parsed)
  return parsed
end

--- Runs text as part of this script (eval).
function scope:text(text, known, at)
  local parsed = parse(self, text, known, at)
  if parsed then
    local holes = self.ex.holes
    self.ex.holes = holes or not known
    local fail, dead = walk.node(self, parsed.list, at)
    if at.effect then
      at.effect.fail, at.effect.dead = fail, dead
    end
    self.ex.holes = holes
    self.reader:leave()
  end
end

--- Reads a list as something that runs at a time that is not known: every variable may have
--- changed.
function scope:any_time(node, at)
  local st = self.state
  local mark = st:mark()
  for _, name in ipairs({ "*", "@", "/cwd", "<exec" }) do
    st:set(name, state.DYNAMIC)
  end
  walk.node(self, node, at)
  st:undo(mark)
end

--- Text that runs later (trap).
function scope:later(text, known, at)
  local parsed = parse(self, text, known, at)
  if not parsed then
    return
  end
  self:any_time(parsed.list, at)
  if parsed.sets then
    self.state:set("*", state.DYNAMIC)
  end
  self.reader:leave()
end

--- A command that takes lines from the input of the script itself: what is left may begin anywhere.
function scope:shares_input(at, name)
  if self.from_stdin and at.stdin.kind == "script" then
    self.reader:problem("stdin", "a command reads from the script itself", name)
  end
end

--- Functions that nothing in the script calls are read too.
function scope:finish(at)
  repeat
    local more = false
    for _, name in ipairs(self:function_names()) do
      if not self.called[name] then
        self.called[name], more = true, true
        for _, body in ipairs(self.functions[name]) do
          self:any_time(body, self.reader.inside(at, nil, { calls = { [name] = 1 }, locals = {} }))
        end
      end
    end
  until not more
end

--- In an order that does not change from run to run.
---@return string[]
function scope:function_names()
  local names = {}
  for name in pairs(self.functions) do
    names[#names + 1] = name
  end
  table.sort(names)
  return names
end

--- `exec <file`: what reads standard input from now on reads something else.
function scope:exec_redirects(behind, before)
  if behind.stdin == before.stdin then
    return
  end
  self.state:set("<exec", state.DYNAMIC)
  if self.from_stdin then
    self.reader:problem("stdin", "exec gives the script another input", "exec")
  end
end

return scope
