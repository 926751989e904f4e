-- SPDX-License-Identifier: MIT
-- One policy file, compiled: its rules sorted by what they are about and, for commands, by the
-- program they name, so that a call meets only the rules that could speak of it.

local glob = require("anvia.sandbox.policy.glob")
local language = require("anvia.sandbox.policy.language")
local near = require("anvia.sandbox.policy.near")
local programs = require("anvia.sandbox.policy.programs")
local rule = require("anvia.sandbox.policy.rule")
local show = require("anvia.sandbox.policy.show")
local wrapper = require("anvia.sandbox.policy.wrapper")

local layer = {}

-- Alternatives multiply: a short policy could otherwise fill the host's memory.
local MAX_PATTERNS = 50000

local function keys(set)
  local list = {}
  for key in pairs(set) do list[#list + 1] = key end
  table.sort(list)
  return list
end

local function set_of(list)
  local set = {}
  for _, key in ipairs(list) do set[key] = true end
  return set
end

local DEFAULTS = set_of(language.defaults)
local PROBLEMS = set_of(language.problems)
local PROGRAM_FIELDS = set_of(programs.fields)

-- ---- the index of commands ----

local function add_to(index, name, clause, one)
  index[name] = index[name] or {}
  local bucket = index[name]
  bucket[#bucket + 1] = { clause = clause, pattern = one }
end

-- A pattern stands under each program name that it spells out, else under "*".
local function index_command(index, clause, one)
  local plain = true
  for _, matcher in ipairs(one.programs) do plain = plain and matcher.literal ~= nil end
  if not plain then return add_to(index, "*", clause, one) end
  local seen = {}
  for _, matcher in ipairs(one.programs) do
    local name = matcher.literal:match("[^/]*$")
    if not seen[name] then add_to(index, name, clause, one) end
    seen[name] = true
  end
  return nil
end

function layer.add_rule(self, made)
  self.rules[#self.rules + 1] = made
  made.order = #self.rules
  for _, clause in ipairs(made.clauses) do
    if clause.kind == "exec" then
      for _, one in ipairs(clause.test) do index_command(self.exec, clause, one) end
    else
      local list = self.clauses[clause.kind]
      list[#list + 1] = clause
    end
  end
end

-- ---- declarations ----

local add = {}

local function add_answer(self, declared, complain)
  if self.patterns > MAX_PATTERNS then return end
  local made = rule.compile(declared, self.file, complain)
  for _, clause in ipairs(made.clauses) do self.patterns = self.patterns + #clause.test end
  if self.patterns > MAX_PATTERNS then
    complain(declared.line, ("more than %d patterns, counting combinations of alternatives")
      :format(MAX_PATTERNS))
  end
  layer.add_rule(self, made)
end

add.allow, add.ask, add.deny = add_answer, add_answer, add_answer

function add.rule(self, declared)
  local made = { answer = "rule", file = self.file, line = declared.line, name = declared.name,
    title = declared.name, predicate = declared.value.predicate, order = #self.rules + 1 }
  self.rules[#self.rules + 1] = made
  self.predicates[#self.predicates + 1] = made
end

function add.expect(self, declared)
  self.expectations[#self.expectations + 1] = declared
end

local function set_default(self, kind, answer, line)
  if language.stricter(answer, self.defaults[kind]) then
    self.defaults[kind] = answer
    self.default_lines[kind] = line
  end
end

local function check_answer(kind, answer, line, complain)
  local ok = type(answer) == "string" and language.rank[answer] and answer ~= "abstain"
  if not ok then
    complain(line, ("default%s: expected \"allow\", \"ask\" or \"deny\", got %s")
      :format(kind and "." .. kind or "", show.value(answer)))
  end
  return ok
end

-- unparsed = { file = "allow", syntax = "deny" }: by what kept the text from being read.
local function set_unparsed(self, answers, line, complain)
  for problem, answer in pairs(answers) do
    if not PROBLEMS[problem] then
      complain(line, "default.unparsed: unknown field '" .. tostring(problem) .. "'"
        .. near.suggest(tostring(problem), language.problems))
    elseif check_answer("unparsed." .. problem, answer, line, complain) then
      set_default(self, "unparsed." .. problem, answer, line)
    end
  end
end

-- `default "ask"` fills in what no `default { ... }` of the file names.
function add.default(self, declared, complain)
  local value = declared.value
  if type(value) == "string" then
    if check_answer(nil, value, declared.line, complain) then
      set_default(self, "every", value, declared.line)
    end
    return
  end
  for kind, answer in pairs(value) do
    if not DEFAULTS[kind] then
      complain(declared.line, "default: unknown field '" .. tostring(kind) .. "'"
        .. near.suggest(tostring(kind), language.defaults))
    elseif kind == "unparsed" and type(answer) == "table" then
      set_unparsed(self, answer, declared.line, complain)
    elseif check_answer(kind, answer, declared.line, complain) then
      set_default(self, kind, answer, declared.line)
    end
  end
end

-- -> answer, line | nil. A default for everything leaves ordinary variables alone.
function layer.default_of(self, kind)
  local answer = self.defaults[kind]
  if answer then return answer, self.default_lines[kind] end
  if kind == "env" then return nil end
  return self.defaults.every, self.default_lines.every
end

-- Code in another language is the business of the program that runs it: a policy that lets python3
-- run knows what it does. It is only looked at where a default names it.
function layer.default_of_problem(self, problem)
  local name = "unparsed." .. tostring(problem)
  if self.defaults[name] or problem == "language" then
    return self.defaults[name], self.default_lines[name]
  end
  return layer.default_of(self, "unparsed")
end

function add.program(self, declared, complain)
  for field, value in pairs(declared.value) do
    local ok = (field == "after" and type(value) == "table")
      or (field == "abbreviates" and type(value) == "boolean")
    if not PROGRAM_FIELDS[field] then
      complain(declared.line, ("program \"%s\": unknown field '%s'%s"):format(declared.name,
        tostring(field), near.suggest(tostring(field), programs.fields)))
    elseif not ok and (type(value) ~= "table" or #value == 0) then
      complain(declared.line, ("program \"%s\".%s: expected a list, got %s"):format(declared.name,
        field, show.value(value)))
      return
    end
  end
  local name = declared.name:lower()
  self.described[name] = programs.merge(self.described[name], declared.value)
end

function add.wrapper(self, declared, complain)
  self.wrappers[declared.name] = wrapper.compile(declared, complain)
end

local function add_limit(self, kind, name, value, declared, complain)
  local known = language.limits[kind]
  if not known[name] then
    return complain(declared.line, ("limit.%s: unknown field '%s'%s"):format(kind, tostring(name),
      near.suggest(tostring(name), keys(known))))
  end
  local number = name:find("bytes", 1, true) and rule.bytes(value) or value
  if type(number) ~= "number" or number < 0 or number ~= number then
    return complain(declared.line, ("limit.%s.%s: expected a number that is not negative, got %s")
      :format(kind, name, show.value(value)))
  end
  local limits = self.limits[kind] or {}
  self.limits[kind] = limits
  if not limits[name] or number < limits[name].value then
    limits[name] = { value = number, file = self.file, line = declared.line }
  end
  return nil
end

function add.limit(self, declared, complain)
  for kind, fields in pairs(declared.value) do
    if not language.limits[kind] then
      complain(declared.line, "limit: unknown field '" .. tostring(kind) .. "'"
        .. near.suggest(tostring(kind), keys(language.limits)))
    elseif type(fields) ~= "table" then
      complain(declared.line, ("limit.%s: expected a table, got %s"):format(kind,
        show.value(fields)))
    else
      for name, value in pairs(fields) do
        add_limit(self, kind, name, value, declared, complain)
      end
    end
  end
end

-- Only what makes a container tighter; a policy cannot hand out anything here.
local CONTAINER = {
  network = { [false] = true, none = true },
  readonly_rootfs = { [true] = true },
  no_new_privileges = { [true] = true },
  drop_capabilities = "all",
  memory_mb = "number", cpus = "number", pids_limit = "number",
}

function add.container(self, declared, complain)
  for field, value in pairs(declared.value) do
    local check = CONTAINER[field]
    if not check then
      complain(declared.line, "container: unknown field '" .. tostring(field) .. "'"
        .. near.suggest(tostring(field), keys(CONTAINER)))
    elseif (check == "number" and (type(value) ~= "number" or value <= 0))
      or (check == "all" and (type(value) ~= "table" or value[1] ~= "ALL"))
      or (type(check) == "table" and not check[value]) then
      complain(declared.line, ("container.%s: %s does not tighten anything"):format(field,
        show.value(value)))
    else
      self.container[field] = value
    end
  end
end

-- ---- the layer ----

function layer.new(file)
  local made = {
    file = file, rules = {}, exec = {}, clauses = {}, predicates = {}, expectations = {},
    defaults = {}, default_lines = {}, limits = {}, container = {}, described = {}, wrappers = {},
    programs = {}, patterns = 0, box = nil, reasons = {},
  }
  for _, kind in ipairs(language.subjects) do made.clauses[kind] = {} end
  return made
end

--- Descriptions of programs: those of the file over those built in.
function layer.describe_programs(self)
  local all = {}
  for name, description in pairs(programs.builtin) do all[name] = description end
  for name, description in pairs(self.described) do
    all[name] = programs.merge(all[name], description)
  end
  for name, description in pairs(all) do
    self.programs[name] = programs.compile(description, function(text)
      return glob.token(text) or glob.token("")
    end)
  end
end

--- Takes the declarations of a box. Returns the complaints, sorted by line.
function layer.fill(self, declarations)
  local complaints = {}
  local function complain(line, text)
    complaints[#complaints + 1] = { line = line, text = self.file .. ":" .. line .. ": " .. text }
  end
  for _, declared in ipairs(declarations) do
    add[declared.word](self, declared, complain)
  end
  layer.describe_programs(self)
  table.sort(complaints, function(a, b)
    if a.line ~= b.line then return a.line < b.line end
    return a.text < b.text
  end)
  return complaints
end

return layer
