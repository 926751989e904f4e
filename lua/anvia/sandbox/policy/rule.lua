-- SPDX-License-Identifier: MIT
-- One declaration of allow, ask or deny: checked, and compiled to what evaluate.lua tests.
--
-- A rule has one clause for each thing it is about (exec, write, ...). Complaints name the file,
-- the line, the field and the value, and all of a file are collected before it is refused.

local glob = require("anvia.sandbox.policy.glob")
local language = require("anvia.sandbox.policy.language")
local near = require("anvia.sandbox.policy.near")
local pattern = require("anvia.sandbox.policy.pattern")
local show = require("anvia.sandbox.policy.show")

local rule = {}

local KNOWN = {}
for _, name in ipairs(language.subjects) do KNOWN[name] = true end
for name in pairs(language.conditions) do KNOWN[name] = true end
for name in pairs(language.notes) do KNOWN[name] = true end

local function keys(set)
  local list = {}
  for key in pairs(set) do list[#list + 1] = key end
  return list
end

-- ---- values ----

local read = {}

-- Text or a list of texts, each compiled by `compile`.
local function each(value, compile)
  if type(value) == "table" and value.any then value = value.any end
  if type(value) ~= "table" then value = { value } end
  if #value == 0 then return nil, "an empty list" end
  local out = {}
  for i, item in ipairs(value) do
    if type(item) ~= "string" then return nil, "expected text, got " .. show.value(item) end
    local compiled, wrong = compile(item)
    if not compiled then return nil, wrong end
    out[i] = compiled
  end
  return out
end

-- only "src" is that directory, or file, and nothing below it.
local function exact_path(text)
  local path, wrong = glob.path(text)
  if path then path.exact = true end
  return path, wrong
end

function read.paths(value)
  if type(value) == "table" and value.only then return each(value.only, exact_path) end
  return each(value, glob.path)
end

function read.names(value) return each(value, glob.token) end

function read.text(value)
  if type(value) ~= "string" or value == "" then return nil, "expected text" end
  return value
end

function read.any(value) return value end

function read.predicate(value)
  if type(value) ~= "table" or type(value.predicate) ~= "number" then
    return nil, "expected a function"
  end
  return value.predicate
end

local UNITS = { B = 1, KB = 1e3, MB = 1e6, GB = 1e9, KIB = 1024, MIB = 1048576, GIB = 1073741824 }

--- 4096, "64 KiB" or "1 MB" as a number of bytes.
function read.bytes(value)
  if type(value) == "number" and value >= 0 and value < 2 ^ 53 then return value end
  local number, unit = tostring(value):match("^%s*([%d.]+)%s*(%a+)%s*$")
  local factor = unit and UNITS[unit:upper()]
  if type(value) ~= "string" or not factor or not tonumber(number) then
    return nil, "expected a number of bytes or text like \"64 KiB\""
  end
  return tonumber(number) * factor
end

local function port_range(item)
  if type(item) == "number" then item = string.format("%.0f", item) end
  if type(item) ~= "string" then return nil end
  local first, last = item:match("^%s*(%d+)%s*%-%s*(%d+)%s*$")
  if not first then first = item:match("^%s*(%d+)%s*$") end
  first, last = tonumber(first), tonumber(last or first)
  if not first or first < 1 or last > 65535 or first > last then return nil end
  return { first = first, last = last }
end

function read.ports(value)
  if type(value) == "table" and value.any then value = value.any end
  if value == "*" then value = "1-65535" end
  if type(value) ~= "table" then value = { value } end
  if #value == 0 then return nil, "an empty list" end
  local out = {}
  for i, item in ipairs(value) do
    out[i] = port_range(item)
    if not out[i] then
      return nil, "expected a port from 1 to 65535, or a range like \"8000-8999\", got "
        .. show.value(item)
    end
  end
  return out
end

-- "curl | sh": the command on the right reads what the one on the left prints.
function read.pipes(value)
  local out = {}
  if type(value) == "table" and value.any then value = value.any end
  for i, item in ipairs(type(value) == "table" and value or { value }) do
    local from, into = tostring(item):match("^%s*([^|]-)%s*|%s*([^|]-)%s*$")
    if type(item) ~= "string" or not from or into == "" then
      return nil, "expected text like \"curl | sh\" or \"* | sh\", got " .. show.value(item)
    end
    local patterns, wrong = pattern.compile(into)
    if not patterns then return nil, wrong end
    local source, bad = glob.token(from == "" and "*" or from, true)
    if not source then return nil, bad end
    if from:find("%s") then return nil, "the left side of a pipe is one program" end
    out[i] = { from = source, into = patterns[1] }
  end
  if #out == 0 then return nil, "an empty list" end
  return out
end

local SUBJECT = {
  exec = { compile = pattern.compile, except = pattern.compile_list },
  pipe = { compile = read.pipes, except = read.pipes },
  read = { compile = read.paths, except = read.paths },
  write = { compile = read.paths, except = read.paths },
  list = { compile = read.paths, except = read.paths },
  env = { compile = read.names, except = read.names },
  port = { compile = read.ports, except = read.ports },
  tool = { compile = read.names, except = read.names },
}

-- ---- exceptions ----

-- A list of words where a list of patterns is meant would except far too much: "git" in
-- except = { "git", "push" } is every git command.
local function as_wide(exception, own)
  if exception.only or #exception.words > #own.words or #exception.options > #own.options
    or exception.exact[1].text ~= own.exact[1].text then
    return false
  end
  for i, word in ipairs(exception.words) do
    if word[1].text ~= own.words[i][1].text then return false end
  end
  for i, option in ipairs(exception.options) do
    if option[1].text ~= own.options[i][1].text then return false end
  end
  return true
end

local function check_exec_exceptions(exceptions, patterns)
  for _, exception in ipairs(exceptions) do
    for _, own in ipairs(patterns) do
      if as_wide(exception, own) then
        return ("the exception '%s' is as wide as the rule; several words of one command need "
          .. "their own braces: except = { { \"git\", \"push\", \"--dry-run\" } }")
          :format(exception.text)
      end
    end
  end
  return nil
end

local function can_apply(exception, patterns)
  for _, own in ipairs(patterns) do
    for _, mine in ipairs(exception.programs) do
      for _, theirs in ipairs(own.programs) do
        if not mine.literal or not theirs.literal or mine.literal == theirs.literal then
          return true
        end
      end
    end
  end
  return false
end

local function read_exceptions(kind, value, compiled)
  local exceptions, wrong = SUBJECT[kind].except(value)
  if not exceptions then return nil, wrong end
  if kind == "exec" then
    wrong = check_exec_exceptions(exceptions, compiled)
    if wrong then return nil, wrong end
    for _, exception in ipairs(exceptions) do
      if not can_apply(exception, compiled) then
        return nil, ("the exception '%s' is about another program than the rule, so it never "
          .. "applies; several words of one command need their own braces"):format(exception.text)
      end
    end
  end
  return exceptions
end

-- ---- the rule ----

local PATHS = { read = true, write = true, list = true }

-- The subjects of a declaration; `tool` is one only when there is no other.
local function subjects_of(value)
  local found = {}
  for _, kind in ipairs(language.subjects) do
    if value[kind] ~= nil and (kind ~= "tool" or #found == 0) then found[#found + 1] = kind end
  end
  return found
end

local function one_sort(found)
  for _, kind in ipairs(found) do
    if #found > 1 and not (PATHS[kind] and PATHS[found[1]]) then return false end
  end
  return true
end

local function check_fields(value, complain)
  for field, item in pairs(value) do
    if type(field) ~= "string" then
      complain(nil, ("%s has no field name; write exec = ..., read = ..., write = ... or another "
        .. "field"):format(show.value(item)))
    elseif not KNOWN[field] then
      complain(nil, "unknown field '" .. field .. "'" .. near.suggest(field, keys(KNOWN)))
    end
  end
end

local function read_notes(made, value, complain)
  for field, kind in pairs(language.notes) do
    if value[field] ~= nil then
      local item, wrong = read[kind](value[field])
      if item == nil then complain(field, wrong, value[field]) end
      made[field] = item
    end
  end
end

local function read_conditions(value, found, complain)
  local conditions = {}
  for field, kind in pairs(language.conditions) do
    if value[field] ~= nil and not (field == "tool" and found[1] == "tool") then
      local item, wrong = read[kind](value[field])
      if not item then complain(field, wrong, value[field]) end
      conditions[field] = item
    end
  end
  return conditions
end

local function add_clauses(made, value, found, complain)
  local conditions = read_conditions(value, found, complain)
  for _, kind in ipairs(found) do
    local compiled, wrong = SUBJECT[kind].compile(value[kind])
    if not compiled then
      complain(kind, wrong, value[kind])
    else
      local clause = { rule = made, kind = kind, test = compiled, conditions = conditions }
      if value.except ~= nil and one_sort(found) then
        clause.except, wrong = read_exceptions(kind, value.except, compiled)
        if not clause.except then complain("except", wrong, value.except) end
      end
      made.clauses[#made.clauses + 1] = clause
    end
  end
end

--- A declaration of the box -> rule. `complain(line, text)` is called for each thing that is wrong.
function rule.compile(declared, file, complain)
  local value, word = declared.value, declared.word
  local made = { answer = word, file = file, line = declared.line, clauses = {} }
  local function wrong(field, text, item)
    local at = field and (word .. "." .. field) or word
    local got = item ~= nil and (" (in " .. show.value(item) .. ")") or ""
    complain(declared.line, at .. ": " .. text .. got)
  end
  check_fields(value, wrong)
  read_notes(made, value, wrong)
  local found = subjects_of(value)
  if #found == 0 then
    wrong(nil, "a rule is about one of " .. table.concat(language.subjects, ", "))
  end
  if (made.except or made.match or made.not_match) and not one_sort(found) then
    wrong(nil, "except, match and not_match need a rule about one kind of thing; this one is about "
      .. table.concat(found, " and ") .. ", write one rule for each")
  end
  add_clauses(made, value, found, wrong)
  made.about = found[1]
  made.title = made.name or show.rule(word, value, found)
  return made
end

--- For other parts of the language that take the same values.
rule.bytes = read.bytes

return rule
