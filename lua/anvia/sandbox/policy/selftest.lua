-- SPDX-License-Identifier: MIT
-- The tests that stand in a policy: `match` and `not_match` of a rule, `expect` of the whole file.
-- A policy that fails one of them does not load.

local evaluate = require("anvia.sandbox.policy.evaluate")
local judge = require("anvia.sandbox.policy.judge")
local language = require("anvia.sandbox.policy.language")
local layers = require("anvia.sandbox.policy.layer")
local near = require("anvia.sandbox.policy.near")
local show = require("anvia.sandbox.policy.show")

local selftest = {}

-- Examples are read by code that no budget of the box counts, so they have one of their own.
local MAX_TESTS_BYTES = 256 * 1024

local CALL_FIELDS = { "tool", "command", "args", "cwd", "env", "input", "path", "content", "port",
  "id", "timeout_ms", "size", "to", "signal" }

-- ---- calls from what authors write ----

-- The words of a plain command line, or nil when a shell would do more than split it.
local function plain_words(text)
  local words, rest = {}, text
  while rest:find("%S") do
    rest = rest:gsub("^%s+", "")
    local word = rest:match("^'([^']*)'") or rest:match("^\"([^\"$`\\]*)\"")
    if word then
      rest = rest:sub(#word + 3)
    else
      word = rest:match("^[^%s'\"|;&<>()$`\\*?%[#~{}!\n]+")
      if not word then return nil end
      rest = rest:sub(#word + 1)
    end
    if rest ~= "" and not rest:find("^%s") then return nil end
    words[#words + 1] = word
  end
  if #words == 0 or words[1]:find("^[%a_][%w_]*=") or text:find("\n") then return nil end
  return words
end

local function call_of_words(words)
  local args = {}
  for i = 2, #words do args[i - 1] = words[i] end
  return { tool = "exec_command", command = words[1], args = args }
end

--- A call from a command line, a list of words or a call -> call | nil, what is wrong
function selftest.call(value)
  if type(value) == "string" then
    local words = plain_words(value)
    if words then return call_of_words(words) end
    return { tool = "exec_command", command = "sh", args = { "-c", value } }, nil, true
  end
  if #value > 0 then return call_of_words(value) end
  for field in pairs(value) do
    local known = false
    for _, name in ipairs(CALL_FIELDS) do known = known or name == field end
    if not known then
      return nil, "unknown field '" .. tostring(field) .. "'"
        .. near.suggest(tostring(field), CALL_FIELDS)
    end
  end
  if type(value.tool) ~= "string" then
    return nil, "a call needs a tool, for example tool = \"write_file\""
  end
  return value
end

local TOOL_OF = { read = "read_file", write = "write_file", list = "list_files" }

-- What an entry of `match` means depends on what the rule is about.
local function call_of_entry(rule, entry)
  local about = rule.about
  if type(entry) == "table" and (entry.tool or #entry > 0) then return selftest.call(entry) end
  if about == "exec" or about == "pipe" then
    if type(entry) ~= "string" then return nil, "expected a command line" end
    return selftest.call(entry)
  elseif TOOL_OF[about] and type(entry) == "string" then
    return { tool = TOOL_OF[about], path = entry }
  elseif about == "env" and type(entry) == "string" then
    return { tool = "exec_command", command = "true", env = { [entry] = "" } }
  elseif about == "port" and type(entry) == "number" then
    return { tool = "wait_for_port", port = entry }
  elseif about == "tool" and type(entry) == "string" then
    return { tool = entry, command = language.tools[entry] == "exec" and "true" or nil }
  end
  return nil, "expected an example of what the rule is about (" .. about .. ")"
end

-- ---- match and not_match ----

-- A layer with one rule only, and the descriptions of the file.
local function alone(layer, rule)
  local mini = layers.new(layer.file)
  mini.programs, mini.box = layer.programs, layer.box
  local order = rule.order
  layers.add_rule(mini, rule)
  rule.order = order
  return mini
end

-- Whether the rule holds for the call: some subject for deny and ask, all of its kind for allow.
local function holds(policy, mini, rule, call, is_script)
  local ctx = judge.context(policy, call, policy:session_state())
  local some, all = false, true
  for _, subject in ipairs(ctx.subjects) do
    local outer = is_script and subject.kind == "exec" and subject.command.position == 1
    if subject.kind == rule.about and not outer then
      local found = evaluate.subject({ mini }, subject, ctx)
      local matched = found.by == "rule" and not found.maybe and not found.failed
      if matched then some = true elseif not subject.inert then all = false end
    end
  end
  return some and (rule.answer ~= "allow" or all)
end

local function entries(value)
  if type(value) ~= "table" then return { value } end
  if value.tool then return { value } end
  return value
end

local function test_rule(policy, layer, rule, complain)
  local mini = alone(layer, rule)
  for _, field in ipairs { "match", "not_match" } do
    for _, entry in ipairs(rule[field] ~= nil and entries(rule[field]) or {}) do
      local call, wrong, is_script = call_of_entry(rule, entry)
      if not call then
        complain(rule.line, ("%s.%s: %s, got %s"):format(rule.answer, field, wrong,
          show.value(entry)))
      elseif holds(policy, mini, rule, call, is_script) ~= (field == "match") then
        complain(rule.line, ("%s.%s: the rule %s %s"):format(rule.answer, field,
          field == "match" and "does not match" or "matches", show.value(entry)))
      end
    end
  end
end

-- ---- expect ----

local function test_expectation(policy, expectation, complain)
  local wanted = expectation.value
  local title = ("expect(%s, %s)"):format(show.value(expectation.call), show.value(wanted))
  if language.rank[wanted] == nil or wanted == "abstain" then
    return complain(expectation.line, title .. ": the answer is \"allow\", \"ask\" or \"deny\"")
  end
  local call, wrong = selftest.call(expectation.call)
  if not call then return complain(expectation.line, title .. ": " .. wrong) end
  local verdict = judge.call(policy, call, policy:session_state())
  if verdict.answer ~= wanted then
    complain(expectation.line, ("%s: the answer is %s. %s"):format(title, verdict.answer,
      verdict.text))
  end
  return nil
end

local function size_of(value)
  if type(value) ~= "table" then return #tostring(value) + 16 end
  local size = 16
  for _, item in pairs(value) do size = size + size_of(item) end
  return size
end

local function size_of_tests(layer)
  local size = 0
  for _, rule in ipairs(layer.rules) do
    size = size + size_of(rule.match) + size_of(rule.not_match)
  end
  for _, expectation in ipairs(layer.expectations) do size = size + size_of(expectation.call) end
  return size
end

--- Runs all tests of a policy of one layer -> list of complaints.
function selftest.run(policy)
  local layer, complaints = policy.layers[1], {}
  local function complain(line, text)
    complaints[#complaints + 1] = ("%s:%d: %s"):format(layer.file, line, text)
  end
  if size_of_tests(layer) > MAX_TESTS_BYTES then
    return { ("%s: the examples have more than %d bytes"):format(layer.file, MAX_TESTS_BYTES) }
  end
  for _, rule in ipairs(layer.rules) do
    if rule.match ~= nil or rule.not_match ~= nil then test_rule(policy, layer, rule, complain) end
  end
  for _, expectation in ipairs(layer.expectations) do
    test_expectation(policy, expectation, complain)
  end
  return complaints
end

return selftest
