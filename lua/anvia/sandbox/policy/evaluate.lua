-- SPDX-License-Identifier: MIT
-- Judges the subjects of a call against the layers of a policy.
--
-- For each subject every layer says what its strictest rule says, or else its default. The
-- strictest of them is the answer, wherever the rules stand; so a layer can only tighten what
-- another one says. The answer for the call is the strictest of its subjects.
--   deny, ask   hold if any reading matches; where a word is not known yet they may match, and then
--               the answer is ask
--   allow       holds if all readings match, and everything was read

local glob = require("anvia.sandbox.policy.glob")
local language = require("anvia.sandbox.policy.language")
local layers = require("anvia.sandbox.policy.layer")
local match = require("anvia.sandbox.policy.match")
local predicate = require("anvia.sandbox.policy.predicate")

local evaluate = {}

local rank = language.rank

-- ---- one clause and one subject ----

local function literal_start(parts)
  local start = {}
  for _, part in ipairs(parts) do
    if type(part) == "table" then part = part.literal end
    if not part or part == "**" or part:find("[*?%[]") then break end
    start[#start + 1] = part
  end
  return start
end

-- Whether a path that is not known yet could be one that the glob names: not when their beginnings
-- already differ.
local function could_touch(path, subject)
  local parts = path.from == "root" and subject.absolute or subject.relative
  if path.from == "anywhere" then return true end
  if not parts then return false end
  local wanted, given = literal_start(path.wide), literal_start(parts)
  for i = 1, math.min(#wanted, #given) do
    if wanted[i] ~= given[i] then return false end
  end
  return true
end

local function test_paths(globs, subject, strict)
  for _, path in ipairs(globs) do
    if subject.dynamic then
      if strict and could_touch(path, subject) then return "maybe" end
    elseif glob.test_path(path, subject.absolute, subject.relative, strict) then
      return "yes"
    end
  end
  return nil
end

local function test_names(matchers, name)
  for _, matcher in ipairs(matchers) do
    if glob.test(matcher, name) then return "yes" end
  end
  return nil
end

local function view_of(layer, subject)
  subject.views = subject.views or {}
  local view = subject.views[layer]
  if not view then
    view = match.view(subject.command, layer.programs)
    subject.views[layer] = view
  end
  return view
end

local function test_command(layer, one, subject, strict)
  local view = view_of(layer, subject)
  if strict then return match.strict(one, view) end
  return match.exact(one, view) and "yes" or nil
end

-- Commands by the list of those that read them: all of one stage of a pipeline share it.
local function writers_of(ctx)
  if ctx.writers then return ctx.writers end
  ctx.writers = {}
  for _, command in ipairs(ctx.readings.commands) do
    local readers = command.pipes_to
    if readers then
      ctx.writers[readers] = ctx.writers[readers] or {}
      table.insert(ctx.writers[readers], command)
    end
  end
  return ctx.writers
end

-- Whether one of the stages before the command, near or far, is the program.
local function reads_from(command, from, ctx)
  local list, seen = command.pipes_from, {}
  if from.text == "*" then return list ~= nil or command.stdin == "pipe" or command.fed end
  while list and not seen[list] do
    seen[list] = true
    for _, name in ipairs(list) do
      if glob.test(from, match.fold(name)) then return true end
    end
    local before = nil
    for _, writer in ipairs(writers_of(ctx)[list] or {}) do
      if writer.name and glob.test(from, match.fold(writer.name)) then return true end
      before = before or writer.pipes_from
    end
    list = before
  end
  return false
end

local function test_pipes(layer, pipes, subject, strict, ctx)
  for _, pipe in ipairs(pipes) do
    local found = reads_from(subject.command, pipe.from, ctx)
      and test_command(layer, pipe.into, subject, strict)
    if found then return found end
  end
  return nil
end

local function test_ports(ranges, port)
  for _, range in ipairs(ranges) do
    if type(port) == "number" and port >= range.first and port <= range.last then return "yes" end
  end
  return nil
end

-- `test` is what the clause or its exception holds for this kind of subject.
local function test_subject(layer, kind, test, subject, strict, ctx)
  if kind == "exec" then
    local best = nil
    for _, one in ipairs(test) do
      local found = test_command(layer, one, subject, strict)
      if found == "yes" then return found end
      best = best or found
    end
    return best
  elseif kind == "pipe" then
    return test_pipes(layer, test, subject, strict, ctx)
  elseif kind == "env" then
    return test_names(test, subject.name)
  elseif kind == "port" then
    return test_ports(test, subject.port)
  elseif kind == "tool" then
    return test_names(test, subject.tool)
  end
  return test_paths(test, subject, strict)
end

local function test_cwd(globs, subject, ctx, strict)
  local command = subject.command
  local list = command and (command.cwds or { command.cwd }) or {}
  if #list == 0 then return strict and "maybe" or nil end
  local all = true
  for _, directory in ipairs(list) do
    local place = ctx.place(directory)
    local here = test_paths(globs, place, strict)
    if here and strict then return "yes" end
    all = all and here ~= nil
  end
  return all and not strict and "yes" or nil
end

local function test_size(conditions, subject, strict)
  local size = subject.size
  if not size then return strict and "maybe" or nil end
  if conditions.larger_than and size <= conditions.larger_than then return nil end
  if conditions.up_to and size > conditions.up_to then return nil end
  return "yes"
end

local function weaker(a, b)
  if not a or not b then return nil end
  return (a == "maybe" or b == "maybe") and "maybe" or "yes"
end

local function test_conditions(clause, subject, ctx, strict)
  local conditions, found = clause.conditions, "yes"
  if conditions.tool then found = test_names(conditions.tool, ctx.call.tool) end
  if found and conditions.cwd then
    found = weaker(found, test_cwd(conditions.cwd, subject, ctx, strict))
  end
  if found and (conditions.larger_than or conditions.up_to) then
    found = weaker(found, test_size(conditions, subject, strict))
  end
  return found
end

-- -> "yes" | "maybe" | nil, and what a failed predicate says
local function clause_holds(layer, clause, found, subject, ctx)
  local strict = clause.rule.answer ~= "allow"
  found = weaker(found, test_conditions(clause, subject, ctx, strict))
  if not found then return nil end
  if clause.except
    and test_subject(layer, clause.kind, clause.except, subject, not strict, ctx) then
    return nil
  end
  if clause.conditions.when then
    return predicate.condition(layer, clause, subject, ctx, found)
  end
  return found
end

-- ---- one layer and one subject ----

local function answer_of(clause, found)
  if found == "maybe" and clause.rule.answer == "deny" then return "ask" end
  return clause.rule.answer
end

-- Takes the match when it is stricter than what was found before it.
local function consider(layer, best, clause, found, subject, ctx)
  local no_better = best and rank[best.answer] >= rank[clause.rule.answer]
  if no_better and not ctx.trace then return best end
  local holds, failed = clause_holds(layer, clause, found, subject, ctx)
  if not holds then return best end
  local answer = failed and "deny" or answer_of(clause, holds)
  local matched = { answer = answer, rule = clause.rule, subject = subject, by = "rule",
    maybe = holds == "maybe", failed = failed }
  if ctx.trace then ctx.trace[#ctx.trace + 1] = matched end
  if language.stricter(answer, best and best.answer) then return matched end
  return best
end

local function exec_rules(layer, subject, ctx)
  local best = nil
  local view = view_of(layer, subject)
  for pass = 1, 2 do
    local bucket = layer.exec[pass == 1 and (view.name or "") or "*"] or {}
    for _, entry in ipairs(bucket) do
      if best and best.answer == "deny" and not ctx.trace then return best end
      local found = test_command(layer, entry.pattern, subject, entry.clause.rule.answer ~= "allow")
      if found then best = consider(layer, best, entry.clause, found, subject, ctx) end
    end
  end
  return best
end

local function other_rules(layer, kind, best, subject, ctx)
  for _, clause in ipairs(layer.clauses[kind]) do
    if best and best.answer == "deny" and not ctx.trace then return best end
    local strict = clause.rule.answer ~= "allow"
    local found = test_subject(layer, kind, clause.test, subject, strict, ctx)
    if found then best = consider(layer, best, clause, found, subject, ctx) end
  end
  return best
end

-- What the rules of the layer say, or nil.
local function by_rules(layer, subject, ctx)
  if subject.kind == "exec" then
    local best = exec_rules(layer, subject, ctx)
    local command = subject.command
    if command.pipes_from or command.stdin == "pipe" or command.fed then
      best = other_rules(layer, "pipe", best, subject, ctx)
    end
    return best
  end
  return other_rules(layer, subject.kind, nil, subject, ctx)
end

local function default_kind(subject)
  return subject.kind == "env" and subject.risky and "risky_env" or subject.kind
end

local function by_layer(layer, subject, ctx)
  local found = by_rules(layer, subject, ctx)
  if found then return found end
  if ctx.allowed[layer] then
    return { answer = "allow", rule = ctx.allowed[layer], subject = subject, by = "rule" }
  end
  if subject.inert then return nil end
  local answer, line = layers.default_of(layer, default_kind(subject))
  if not answer then return nil end
  local kind = default_kind(subject)
  return { answer = answer, subject = subject, by = "default", file = layer.file, line = line,
    kind = kind, because = answer ~= "allow" and layer.reasons[kind] or nil }
end

--- The answer of all layers about one subject.
function evaluate.subject(all, subject, ctx)
  local best = nil
  for _, layer in ipairs(all) do
    local found = by_layer(layer, subject, ctx)
    if found and language.stricter(found.answer, best and best.answer) then best = found end
    if best and best.answer == "deny" and not ctx.trace then break end
  end
  if best then return best end
  if subject.inert then return { answer = "allow", subject = subject, by = "inert" } end
  local kind = default_kind(subject)
  return { answer = language.fallback[kind], subject = subject, by = "fallback", kind = kind }
end

--- The answer for text that could not be read to the end; nil when nobody minds.
function evaluate.unparsed(all, problem)
  local best = nil
  local subject = { kind = "unparsed", problem = problem, text = problem.what }
  for _, layer in ipairs(all) do
    local answer, line = layers.default_of_problem(layer, problem.kind)
    if answer and language.stricter(answer, best and best.answer) then
      best = { answer = answer, by = "default", file = layer.file, line = line, kind = "unparsed",
        subject = subject }
    end
  end
  if best or problem.kind == "language" then return best end
  return { answer = language.fallback.unparsed, by = "fallback", kind = "unparsed",
    subject = subject }
end

return evaluate
