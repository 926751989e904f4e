-- SPDX-License-Identifier: MIT
-- Predicates: functions of the policy, called in its box with a copy of the call.
--
-- They fail closed: an error, a spent budget or an answer that is none is a deny that says so.

local language = require("anvia.sandbox.policy.language")
local show = require("anvia.sandbox.policy.show")

local predicate = {}

-- Longer contents do not cross; a predicate sees their size, and an absent text is an error to it.
local MAX_TEXT = 1024 * 1024

local FIELDS = { "tool", "command", "cwd", "input", "path", "content", "port", "id", "timeout_ms",
  "to", "signal" }

local function short(text)
  if type(text) == "string" and #text > MAX_TEXT then return nil end
  return text
end

local function copy_command(command)
  return { argv = command.argv, name = command.name, path = command.path, file = command.file,
    role = command.role, via = command.via, reading = command.reading, cwd = command.cwd,
    stdin = command.stdin, pipes_from = command.pipes_from, pipes_to = command.pipes_to,
    reads_pipe = command.stdin == "pipe" or command.pipes_from ~= nil or command.fed or nil }
end

-- The call as predicates see it. Made once; the box copies it for each of them.
local function call_copy(ctx)
  if ctx.copy then return ctx.copy end
  local call, readings = ctx.call, ctx.readings
  local copy = { args = call.args, env = call.env, commands = {}, accesses = {}, environment = {},
    problems = readings and readings.problems or {}, complete = ctx.complete,
    size = call.content and #call.content or call.size, workdir = ctx.workdir,
    spent = ctx.state:counters(), limits = ctx.limits }
  for _, field in ipairs(FIELDS) do copy[field] = short(call[field]) end
  for i, command in ipairs(readings and readings.commands or {}) do
    copy.commands[i] = copy_command(command)
  end
  for _, subject in ipairs(ctx.subjects) do
    if subject.absolute and not subject.argument then
      copy.accesses[#copy.accesses + 1] = { kind = subject.kind, path = subject.path,
        absolute = subject.absolute, relative = subject.relative, dynamic = subject.dynamic }
    elseif subject.kind == "env" then
      copy.environment[#copy.environment + 1] = { name = subject.name, value = subject.value }
    end
  end
  if readings and readings.script then copy.script = { text = readings.script.text } end
  ctx.copy = copy
  return copy
end

local function subject_copy(subject)
  if subject.command then return copy_command(subject.command) end
  return { kind = subject.kind, path = subject.path, size = subject.size, name = subject.name,
    value = subject.value, port = subject.port, tool = subject.tool }
end

local function where(rule)
  return ("%s:%d"):format(rule.file, rule.line)
end

--- The `when` of a rule -> "yes" | "maybe" | nil, and the reason when it failed.
function predicate.condition(layer, clause, subject, ctx, found)
  local ok, value = layer.box:call(clause.conditions.when, call_copy(ctx), subject_copy(subject))
  if not ok then
    return "yes", ("the condition of the rule at %s failed: %s"):format(where(clause.rule), value)
  end
  return value and found or nil
end

local function verdict(rule, fields)
  fields.rule, fields.by = rule, "rule"
  fields.subject = { kind = "call", text = "the call" }
  return fields
end

local function failed(rule, why)
  return verdict(rule, { answer = "deny", failed = ("the rule '%s' at %s failed: %s"):format(
    show.line(rule.name), where(rule), why) })
end

--- Calls rule(name, f) -> match | nil
function predicate.run(layer, rule, ctx)
  local ok, value = layer.box:call(rule.predicate, call_copy(ctx))
  if not ok then return failed(rule, value) end
  if value == nil or value == false then return nil end
  local answer = type(value) == "table" and value.answer
  if not language.rank[answer] then
    return failed(rule, "it answered " .. show.value(value)
      .. "; return allow(), ask(\"why\"), deny(\"why\") or nothing")
  end
  if answer == "abstain" then return nil end
  return verdict(rule, { answer = answer, because = value.because, instead = value.instead })
end

return predicate
