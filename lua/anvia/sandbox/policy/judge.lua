-- SPDX-License-Identifier: MIT
-- From a call to its verdict: reads it, judges each subject, asks predicates, checks the limits.

local ask = require("anvia.sandbox.policy.ask")
local budget = require("anvia.sandbox.policy.budget")
local evaluate = require("anvia.sandbox.policy.evaluate")
local explain = require("anvia.sandbox.policy.explain")
local language = require("anvia.sandbox.policy.language")
local predicate = require("anvia.sandbox.policy.predicate")
local readings = require("anvia.sandbox.policy.readings")
local show = require("anvia.sandbox.policy.show")
local subjects = require("anvia.sandbox.policy.subjects")

local judge = {}

-- ---- is it a call at all ----

local function refuse(text)
  return { answer = "deny", by = "call", because = text, subject = { kind = "call",
    text = "the call" } }
end

local TEXTS = { "command", "cwd", "path", "to", "id", "signal" }

local function bad_text(name, value)
  if type(value) ~= "string" then return "'" .. name .. "' must be text" end
  if value:find("\0", 1, true) then return "'" .. name .. "' contains a NUL byte" end
  return nil
end

local function bad_list(name, value)
  if type(value) ~= "table" then return "'" .. name .. "' must be a list of texts" end
  local count = 0
  for _ in pairs(value) do count = count + 1 end
  if count ~= #value then return "'" .. name .. "' must be a list without holes" end
  for i, item in ipairs(value) do
    local wrong = bad_text(("%s[%d]"):format(name, i), item)
    if wrong then return wrong end
  end
  return nil
end

local function bad_env(value)
  if type(value) ~= "table" then return "'env' must be a table" end
  for name, text in pairs(value) do
    if type(name) ~= "string" or name == "" or name:find("[=\0]") then
      return "'env' has a name that cannot be one"
    end
    local wrong = bad_text("env." .. name, text)
    if wrong then return wrong end
  end
  return nil
end

-- What the checks see must be what runs: bytes that end a C string would part the two.
local function malformed(call)
  for _, name in ipairs(TEXTS) do
    local wrong = call[name] ~= nil and bad_text(name, call[name])
    if wrong then return wrong end
  end
  if call.input ~= nil and type(call.input) ~= "string" then return "'input' must be text" end
  if call.content ~= nil and type(call.content) ~= "string" then return "'content' must be text" end
  local wrong = call.args ~= nil and bad_list("args", call.args)
    or call.env ~= nil and bad_env(call.env)
  if wrong then return wrong end
  if language.tools[call.tool] == "exec" and call.command == nil then
    return "'command' is missing"
  end
  return nil
end

-- ---- the call in context ----

-- Also looks up links, in the session, which can fail: what could not be read is refused.
local function read_call(policy, call, context)
  if language.tools[call.tool] ~= "exec" then return nil end
  return (policy.readings or readings).of(call, context)
end

local function read_context(policy, call, context)
  local made = read_call(policy, call, context)
  return made, subjects.of(call, made, context)
end

--- The call with its readings and subjects.
function judge.context(policy, call, state, trace)
  local facts = state.facts or {}
  local context = { workdir = facts.workdir, links = facts.links, env = facts.env,
    wrappers = policy.wrappers }
  local ctx = { call = call, state = state, context = context, trace = trace, allowed = {},
    workdir = facts.workdir }
  local ok, made, list = pcall(read_context, policy, call, context)
  if ok then
    ctx.readings, ctx.subjects = made, list
  else
    ctx.failed, ctx.subjects = show.line(tostring(made), 200), {}
  end
  ctx.place = function(directory) return subjects.path("read", directory, context) end
  return ctx
end

-- Problems that leave something unread, each as a text that was not parsed.
local function problems_of(policy, ctx)
  local found = {}
  if not ctx.readings then return found end
  local count = 0
  for _, problem in ipairs(ctx.readings.problems) do
    count = count + 1
    if problem.kind == "nul" then return { refuse(problem.what) } end
    found[#found + 1] = evaluate.unparsed(policy.layers, problem)
  end
  if not ctx.readings.complete and count == 0 then
    found[1] = evaluate.unparsed(policy.layers, { what = "the call was not read completely" })
  end
  return found
end

-- ---- the answers ----

local function add(results, found)
  results[#results + 1] = found
end

-- Predicates first: one that allows the call speaks for the subjects that no rule of its layer
-- speaks of, provided that everything was read.
local function run_predicates(policy, ctx, results)
  for _, layer in ipairs(policy.layers) do
    for _, rule in ipairs(layer.predicates) do
      local found = predicate.run(layer, rule, ctx)
      if found then
        if found.answer ~= "allow" then add(results, found)
        elseif ctx.complete then ctx.allowed[layer] = rule end
        if ctx.trace then ctx.trace[#ctx.trace + 1] = found end
      end
    end
  end
end

local function granted(found, state)
  if found.answer ~= "ask" then return found end
  local proposal = ask.propose(found)
  if not proposal or not state.grants[proposal.key] then return found end
  return { answer = "allow", by = "grant", subject = found.subject }
end

local function evaluate_all(policy, ctx)
  local results = {}
  local unread = problems_of(policy, ctx)
  ctx.complete = #unread == 0
  ctx.limits = judge.limit_values(policy, ctx.call.tool)
  run_predicates(policy, ctx, results)
  for _, subject in ipairs(ctx.subjects) do
    add(results, granted(evaluate.subject(policy.layers, subject, ctx), ctx.state))
  end
  for _, found in ipairs(unread) do add(results, found) end
  local over = budget.check(policy.layers, ctx.call, ctx.state)
  if over then add(results, over) end
  return results
end

-- Of equally strict answers one that a rule gave says more than a default.
local function better(found, best)
  if not best or language.stricter(found.answer, best.answer) then return true end
  return found.answer == best.answer and found.by == "rule" and best.by ~= "rule"
end

local function decide(results)
  local best, asks = nil, {}
  for _, found in ipairs(results) do
    if better(found, best) then best = found end
    if found.answer == "ask" then asks[#asks + 1] = found end
  end
  return best, asks
end

--- Limits of a tool as plain numbers, the smallest of all layers.
function judge.limit_values(policy, tool)
  local values = {}
  for name, limit in pairs(budget.limits(policy.layers, budget.kind_of(tool))) do
    values[name] = limit.value
  end
  return values
end

--- -> verdict, context. With `trace` every rule that matches is noted in verdict.matches.
function judge.call(policy, call, state, trace)
  if policy.error then
    return explain.verdict(refuse("the policy could not be loaded, so it refuses everything: "
      .. show.line(tostring(policy.error), 400)), {})
  end
  local wrong = malformed(call)
  if wrong then return explain.verdict(refuse(wrong), {}) end
  local ctx = judge.context(policy, call, state, trace)
  if ctx.failed then
    return explain.verdict(refuse("it could not be read: " .. ctx.failed), {})
  end
  local results = evaluate_all(policy, ctx)
  local best, asks = decide(results)
  local verdict = explain.verdict(best, asks)
  verdict.steps, verdict.matches = results, trace or {}
  return verdict, ctx
end

return judge
